import { parse } from 'path-to-regexp';
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverrideContext,
  type ZodOpenApiPathsObject,
} from 'zod-openapi';
import type { ApiOperation } from './api-operation.ts';
import { responsesOf } from './api-responses.ts';
import type { Route } from './routes.ts';

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = oas31.OpenAPIObject;

interface ApiDescription {
  title: string;
  version: string;
  /** Markdown. */
  description: string;
  operations: readonly ApiOperation[];
  securitySchemes?: Record<string, oas31.SecuritySchemeObject>;
  tags?: oas31.TagObject[];
  /** The default is the origin that the document came from. */
  servers?: oas31.ServerObject[];
}

/**
 * The OpenAPI document of a service, drawn from the schemas that its routers parse with. Each operation gets the
 * refusals that can always happen (400, 500, 503; with a body 413 and 415), in the one error shape. Throws where two
 * operations stand at one method and path, or a path is none that a document can write.
 */
export function describeApi(api: ApiDescription): OpenApiDocument {
  const { title, version, description, operations, securitySchemes = {}, tags = [] } = api;
  const paths: ZodOpenApiPathsObject = {};
  for (const operation of operations) {
    const path = templateOf(operation.path);
    const method = methods[operation.method];
    if (paths[path]?.[method] !== undefined)
      throw new Error(`${operation.method} ${path} is described twice.`);
    paths[path] = { ...paths[path], [method]: operationOf(operation) };
  }
  return createDocument(
    {
      openapi: '3.1.0',
      info: { title, version, description },
      servers: api.servers ?? [{ url: '/' }],
      tags,
      paths,
      components: { securitySchemes },
    },
    { override: allowFurtherMembers },
  );
}

const methods = {
  GET: 'get',
  POST: 'post',
  PUT: 'put',
  PATCH: 'patch',
  DELETE: 'delete',
  OPTIONS: 'options',
} as const;

// `/issues/:id` as `/issues/{id}`, by the parser that Express itself routes with.
function templateOf(path: string): string {
  const parts = parse(path).tokens.map((token) => {
    if (token.type === 'text') return token.value;
    if (token.type === 'param') return `{${token.name}}`;
    throw new Error(`OpenAPI has no words for the path ${path}.`);
  });
  return parts.join('');
}

function operationOf(operation: ApiOperation): ZodOpenApiOperationObject {
  const { operationId, summary, description, tags, security = [], params, query, headers, body } = operation;
  return {
    operationId,
    summary,
    ...(description === undefined ? {} : { description }),
    tags,
    security: security.map((name) => ({ [name]: [] })),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...(headers === undefined ? {} : { header: headers }),
    },
    ...(body === undefined ? {} : { requestBody: requestBodyOf(body) }),
    responses: responsesOf(operation),
  };
}

function requestBodyOf({ schema, form, optional = false }: NonNullable<ApiOperation['body']>) {
  return {
    required: !optional,
    content: {
      'application/json': { schema },
      ...(form === undefined ? {} : { 'application/x-www-form-urlencoded': { schema: form } }),
    },
  };
}

// zod closes the objects that it writes. Answers may gain members, and clients ignore those that they do not know;
// only what the schema itself calls strict stays closed.
function allowFurtherMembers({ jsonSchema, zodSchema }: ZodOpenApiOverrideContext): void {
  const { def } = zodSchema._zod;
  if (def.type === 'object' && def.catchall?._zod.def.type !== 'never')
    delete jsonSchema.additionalProperties;
}

/**
 * Where a document and the routes differ, one line a difference: a route that is not described, an operation that
 * is not served. Parameters' names count, a trailing slash does not.
 */
export function findUndocumentedRoutes(routes: readonly Route[], document: OpenApiDocument): string[] {
  const served = new Set(routes.map(({ method, path }) => `${method} ${withoutSlash(templateOf(path))}`));
  const described = new Set(
    Object.entries(document.paths ?? {}).flatMap(([path, item]) =>
      Object.values(methods)
        .filter((method) => item[method] !== undefined)
        .map((method) => `${method.toUpperCase()} ${withoutSlash(path)}`),
    ),
  );
  return [
    ...[...served]
      .filter((route) => !described.has(route))
      .map((route) => `${route} is served and not described`),
    ...[...described]
      .filter((route) => !served.has(route))
      .map((route) => `${route} is described and not served`),
  ].sort();
}

function withoutSlash(path: string): string {
  return path.length > 1 && path.endsWith('/') ? path.slice(0, -1) : path;
}
