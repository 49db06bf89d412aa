import { z } from 'zod';
import {
  createDocument,
  type oas31,
  type ZodOpenApiOperationObject,
  type ZodOpenApiOverrideContext,
  type ZodOpenApiPathItemObject,
} from 'zod-openapi';
import { listsIgnoredMembers } from '../src/known-members.ts';
import type { Api, Operation, OperationBody } from '../src/operation.ts';
import { describeDocument } from './descriptions.ts';
import { fileContent, responsesOf } from './responses.ts';

/** An OpenAPI 3.1 document. */
export type OpenApiDocument = oas31.OpenAPIObject;

/**
 * Writes the OpenAPI document of an API. Each operation gets the errors that are always possible (400, 500, 503; with a
 * body 408, 413 and 415). Throws when two operations have the same method and path, and for a path with wildcards.
 */
export function describeApi(api: Api): OpenApiDocument {
  const { title, version, description, operations, securitySchemes, tags } = api;
  const paths: Record<string, Record<string, ZodOpenApiOperationObject>> = {};
  for (const operation of operations) {
    const path = toTemplate(operation.path);
    const method = operation.method.toLowerCase();
    if (paths[path]?.[method] !== undefined)
      throw new Error(`${operation.method} ${path} is described twice.`);
    paths[path] = { ...paths[path], [method]: describeOperation(operation, api) };
  }
  const document = createDocument(
    {
      openapi: '3.1.0',
      info: { title, version, description, contact: { name: 'Tessera' } },
      // The origin that serves the document.
      servers: [{ url: '/' }],
      tags: Object.entries(tags).map(([name, about]) => ({ name, description: about })),
      paths,
      ...(api.sentEvents === undefined ? {} : { webhooks: describeEvents(api.sentEvents) }),
      components: { securitySchemes: { ...securitySchemes } },
    },
    { override: simplify },
  );
  describeDocument(document);
  return document;
}

// A receiver of webhooks gets the bodies of the feed.
function describeEvents(events: NonNullable<Api['sentEvents']>): Record<string, ZodOpenApiPathItemObject> {
  return Object.fromEntries(
    Object.entries(events).map(([type, schema]) => [
      type,
      {
        post: {
          operationId: `on${schema.meta()?.id}`,
          summary: schema.meta()?.description ?? type,
          security: [],
          requestBody: { required: true, content: { 'application/json': { schema } } },
          responses: { 204: { description: 'Received.' } },
        },
      },
    ]),
  );
}

// In OpenAPI, a path parameter is always one whole segment.
function toTemplate(path: string): string {
  if (!/^(\/[\w.~-]*|\/:\w+)+$/.test(path)) throw new Error(`${path} cannot be described by OpenAPI.`);
  return path.replace(/:(\w+)/g, '{$1}');
}

function describeOperation(operation: Operation, api: Api): ZodOpenApiOperationObject {
  const { id, summary, description, tags, security = [], params, query, body, upload } = operation;
  return {
    operationId: id,
    summary,
    ...(description === undefined ? {} : { description }),
    tags: [...tags],
    security: security.map((name) => ({ [name]: [] })),
    requestParams: {
      ...(params === undefined ? {} : { path: params }),
      ...(query === undefined ? {} : { query }),
      ...headerParameters(operation),
    },
    ...(body === undefined ? {} : { requestBody: describeBody(body) }),
    ...(upload === undefined ? {} : { requestBody: { ...upload, required: true, content: fileContent } }),
    responses: responsesOf(operation, security.length === 0 ? undefined : api.secured),
  };
}

const strictHandling = {
  Prefer: z
    .string()
    .optional()
    .describe(
      '`handling=strict` refuses unknown members of the body with a 422 (RFC 7240). By default they are ignored.',
    )
    .meta({ examples: ['handling=strict'] }),
};

function headerParameters(operation: Operation) {
  const all = { ...operation.headers?.shape, ...(listsIgnoredMembers(operation) ? strictHandling : {}) };
  return Object.keys(all).length === 0 ? {} : { header: z.object(all) };
}

function describeBody({ schema, form, configurable, optional = false, example }: OperationBody) {
  const withConfigurable = (own: z.ZodType) =>
    configurable === undefined ? own : z.union([own, configurable]);
  return {
    required: !optional,
    content: {
      'application/json': { schema: withConfigurable(schema), ...(example === undefined ? {} : { example }) },
      ...(form === undefined
        ? {}
        : { 'application/x-www-form-urlencoded': { schema: withConfigurable(form) } }),
    },
  };
}

function simplify({ jsonSchema, zodSchema }: ZodOpenApiOverrideContext): void {
  const { def } = zodSchema._zod;
  // zod describes objects as closed. Later releases may add members to a response, and clients ignore unknown members,
  // so only strict schemas stay closed.
  if (def.type === 'object' && def.catchall?._zod.def.type !== 'never')
    delete jsonSchema.additionalProperties;
  // Generators expect a schema as `items`, not the `false` that ends a tuple.
  const { prefixItems } = jsonSchema;
  if (def.type === 'tuple' && prefixItems !== undefined) {
    delete jsonSchema.prefixItems;
    const values = prefixItems.flatMap((item) => (typeof item === 'object' ? [item.const] : []));
    Object.assign(jsonSchema, {
      items: { type: 'string', enum: values },
      minItems: values.length,
      maxItems: values.length,
    });
  }
  // Removes zod's patterns that repeat the format, and zod's names of checks that are not formats.
  if (['date', 'date-time', 'uuid'].includes(jsonSchema.format ?? '')) delete jsonSchema.pattern;
  if (jsonSchema.format === 'includes') delete jsonSchema.format;
  // The range of JavaScript's integers, and the names of a record's members, which are always strings.
  if (jsonSchema.minimum === Number.MIN_SAFE_INTEGER) delete jsonSchema.minimum;
  if (jsonSchema.maximum === Number.MAX_SAFE_INTEGER) delete jsonSchema.maximum;
  if (def.type === 'record') delete jsonSchema.propertyNames;
}
