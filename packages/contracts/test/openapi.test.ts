import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { validate } from '@readme/openapi-parser';
import { z } from 'zod';
import { describeApi } from '../openapi/document.ts';
import { pathTables } from '../openapi/paths.ts';
import {
  type Api,
  commonCodes,
  identityApi,
  ignoredMemberFinder,
  issuesApi,
  type Operation,
  type ProblemCodeOf,
} from '../src/index.ts';
import { operations } from './support/operations.ts';

/** Returns the document as clients read it: parsed from JSON. */
function documentOf(api: Api) {
  return JSON.parse(JSON.stringify(describeApi(api)));
}

function describeTickets(listed: readonly Operation[] = operations, changes: Partial<Api> = {}) {
  return documentOf({
    title: 'Tickets',
    version: '1.2.3',
    description: 'A small API.',
    operations: listed,
    tags: { tickets: 'About tickets.', tokens: 'About tokens.' },
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    ...changes,
  });
}

/** The schema of an error body with further members. */
function problemWith($ref: string, properties: Record<string, object>) {
  return { allOf: [{ $ref }, { type: 'object', properties, required: ['code'] }] };
}

function enumOf(values: readonly string[] = []) {
  return { type: 'string', enum: [...values], description: expect.any(String) };
}

const valid = { valid: true, warnings: [], specification: 'OpenAPI' };
const document = describeTickets();

const [getTicket, , , signIn] = operations;
if (getTicket === undefined || signIn === undefined) throw new Error('operations are missing');

describe('describeApi', () => {
  it('writes a valid OpenAPI 3.1 document', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await validate(structuredClone(document))).toEqual(valid);
  });

  it('is checked by a validator that reports a path parameter without its description', async () => {
    const { params: _, ...withoutParams } = getTicket;
    const wrong = describeTickets([withoutParams]);
    expect(await validate(wrong)).toMatchObject({ valid: false });
  });

  it('writes path parameters in braces', () => {
    expect(Object.keys(document.paths)).toEqual(['/tickets/{id}', '/tickets/', '/token']);
    expect(Object.keys(document.paths['/tickets/{id}'])).toEqual(['get', 'put']);
  });

  it('describes title, version, tags and security schemes', () => {
    expect(document.info).toMatchObject({
      title: 'Tickets',
      version: '1.2.3',
      description: 'A small API.',
    });
    expect(document.tags).toEqual([
      { name: 'tickets', description: 'About tickets.' },
      { name: 'tokens', description: 'About tokens.' },
    ]);
    expect(document.components.securitySchemes).toEqual({
      bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' },
    });
  });

  it('describes parameters and bodies by the schemas that parse them', () => {
    const { parameters } = document.paths['/tickets/{id}'].get;
    expect(parameters).toEqual([
      expect.objectContaining({ in: 'path', name: 'id', required: true, schema: expect.anything() }),
      expect.objectContaining({ in: 'header', name: 'If-None-Match' }),
    ]);
    expect(document.paths['/tickets/'].get.parameters).toEqual([
      {
        in: 'query',
        name: 'limit',
        description: expect.any(String),
        schema: { type: 'string', pattern: '^\\d+$' },
      },
    ]);
    expect(document.paths['/token'].post.requestBody).toEqual({
      required: true,
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/PasswordGrant' } },
        'application/x-www-form-urlencoded': { schema: { $ref: '#/components/schemas/PasswordGrantForm' } },
      },
    });
  });

  it('marks an optional body', () => {
    const optional = { ...signIn, body: { schema: z.object({}), optional: true } };
    expect(describeTickets([optional]).paths['/token'].post.requestBody.required).toBe(false);
  });

  it('has one component for a schema of requests and responses, which allows further members', () => {
    expect(document.components.schemas.Ticket).not.toHaveProperty('additionalProperties');
    expect(document.components.schemas).not.toHaveProperty('TicketOutput');
  });

  it('adds the errors that are always possible, and those of a body', () => {
    expect(Object.keys(document.paths['/tickets/{id}'].get.responses)).toEqual([
      '200',
      '304',
      '400',
      '401',
      '404',
      '422',
      '500',
      '503',
    ]);
    expect(Object.keys(document.paths['/tickets/{id}'].put.responses)).toEqual([
      '200',
      '400',
      '401',
      '408',
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
  });

  it("adds the API's headers and errors for secured operations only to those operations", () => {
    const { paths } = describeTickets(operations, {
      secured: { headers: { RateLimit: z.string().optional() }, problems: [429] },
    });
    expect(Object.keys(paths['/tickets/{id}'].get.responses)).toContain('429');
    expect(Object.keys(paths['/tickets/{id}'].get.responses[200].headers)).toContain('RateLimit');
    expect(Object.keys(paths['/tickets/'].get.responses)).not.toContain('429');
    expect(Object.keys(paths['/tickets/'].get.responses[200].headers)).not.toContain('RateLimit');
  });

  it('gives every error the common error body with its codes, and the OAuth error body where declared', () => {
    const { responses } = document.components;
    expect(Object.keys(responses)).toEqual(
      expect.arrayContaining(['Problem422', 'OAuthProblem401', 'Problem404_issue_not_found']),
    );
    for (const [name, response] of Object.entries<{ content: object }>(responses)) {
      const [, kind, status = '', code] = /^(\D+)(\d+)(?:_(\w+))?$/.exec(name) ?? [];
      const common = Object.entries(commonCodes).find(([known]) => known === status)?.[1];
      const codes = code === undefined ? common : [code];
      const schema = problemWith(`#/components/schemas/${kind}`, { code: enumOf(codes) });
      expect(response.content).toEqual({
        'application/json': { schema },
        'application/problem+json': { schema },
      });
    }
    expect(document.paths['/token'].post.responses['401']).toEqual({
      $ref: '#/components/responses/OAuthProblem401',
    });
    expect(document.paths['/tickets/'].get.responses['422']).toEqual({
      $ref: '#/components/responses/Problem422',
    });
    expect(document.components.schemas.Problem.properties).toHaveProperty('errors');
    expect(document.components.schemas.OAuthProblem.required).toEqual(
      expect.arrayContaining(['error', 'request_id']),
    );
  });

  it("uses an operation's own description of an error", () => {
    const { 409: conflict } = document.paths['/tickets/{id}'].put.responses;
    expect(conflict.description).toBe('`version_conflict`: the ticket has changed.');
    expect(conflict.content['application/json'].schema).toEqual(
      problemWith('#/components/schemas/Problem', {
        code: enumOf(['version_conflict']),
        ticket: { $ref: '#/components/schemas/Ticket' },
      }),
    );
  });

  it('adds the codes of an operation to those that are always possible', () => {
    const listed = { ...signIn, problems: [{ status: 400, codes: ['unsupported_grant_type'] as const }] };
    const { content } = describeTickets([listed]).paths['/token'].post.responses[400];
    expect(content['application/json'].schema).toEqual(
      problemWith('#/components/schemas/OAuthProblem', {
        code: enumOf([...commonCodes[400], 'unsupported_grant_type']),
      }),
    );
  });

  it('describes the headers of each status', () => {
    const { responses } = document.components;
    const headersOf = (name: string) => Object.keys(responses[name].headers);
    expect(headersOf('Problem401')).toEqual(['X-Request-Id', 'WWW-Authenticate']);
    expect(headersOf('OAuthProblem401')).toEqual(['X-Request-Id']);
    expect(headersOf('Problem429')).toEqual(['X-Request-Id', 'Retry-After']);
    expect(headersOf('Problem503')).toEqual(['X-Request-Id', 'Retry-After', 'X-Ignored-Fields']);
    expect(headersOf('Problem422')).toEqual(['X-Request-Id', 'X-Ignored-Fields']);
    const { 200: found } = document.paths['/tickets/{id}'].get.responses;
    expect(Object.keys(found.headers)).toEqual(['X-Request-Id', 'ETag']);
  });

  it('describes which operations need a credential', () => {
    expect(document.paths['/tickets/{id}'].get.security).toEqual([{ bearer: [] }]);
    expect(document.paths['/token'].post.security).toEqual([]);
  });

  it('sends requests to the origin that serves the document', () => {
    expect(document.servers).toEqual([{ url: '/' }]);
  });

  it.each<[string, Operation[], RegExp]>([
    ['an operation twice', [getTicket, { ...getTicket, id: 'again' }], /GET \/tickets\/\{id\} .*twice/],
    ['a path with a wildcard', [{ ...getTicket, path: '/files/*rest' }], /\/files\/\*rest/],
    ['a status without a description', [{ ...getTicket, problems: [418] }], /418/],
  ])('refuses %s', (_what, listed, message) => {
    expect(() => describeTickets(listed)).toThrow(message);
  });

  it('gives the same document twice in one process', () => {
    expect(describeTickets()).toEqual(describeTickets());
  });
});

describe.each<[string, Api]>([
  ['identity', identityApi],
  ['issues', issuesApi],
])('the API of %s', (name, api) => {
  const text = readFileSync(new URL(`../openapi/${name}.json`, import.meta.url), 'utf8');
  const committed = JSON.parse(text);

  it('is committed as generated (`npx pnpm@12 run openapi` writes the file)', () => {
    expect(text).toBe(`${JSON.stringify(describeApi(api), null, 2)}\n`);
  });

  it('is valid OpenAPI 3.1', async () => {
    expect(committed.openapi).toBe('3.1.0');
    expect(await validate(structuredClone(committed))).toEqual(valid);
  });

  it('has unique operation ids', () => {
    const ids = api.operations.map(({ id }) => id);
    expect(ids).toEqual([...new Set(ids)]);
  });

  it('has exactly one operation for each that is listed', () => {
    const described = Object.entries<Record<string, { operationId: string }>>(committed.paths).flatMap(
      ([path, item]) =>
        Object.entries(item).map(
          ([method, { operationId }]) => `${operationId} ${method.toUpperCase()} ${path}`,
        ),
    );
    const listed = api.operations.map(
      ({ id, method, path }) => `${id} ${method} ${path.replace(/:(\w+)/g, '{$1}')}`,
    );
    expect(described.toSorted()).toEqual(listed.toSorted());
  });

  it.each(api.operations.map((operation): [string, Operation] => [operation.id, operation]))(
    'has a params schema with exactly the path parameters of %s',
    (_id, { path, params }) => {
      const inPath = [...path.matchAll(/:(\w+)/g)].map(([, parameter]) => parameter);
      expect(Object.keys(params?.shape ?? {}).toSorted()).toEqual(inPath.toSorted());
    },
  );

  it('has a type of the error codes of each operation', () => {
    // A constant without `as const` would widen the codes to `string`, which the compiler reports here.
    const widened: WidenedCodes = undefined;
    expect(widened).toBeUndefined();
  });

  it('uses only the tags and security schemes that it declares', () => {
    for (const { tags, security = [] } of api.operations) {
      expect(Object.keys(api.tags)).toEqual(expect.arrayContaining([...tags]));
      expect(Object.keys(api.securitySchemes)).toEqual(expect.arrayContaining([...security]));
    }
  });
});

it('the tables of paths are committed as generated (`npx pnpm@12 run openapi` writes the file)', () => {
  const text = readFileSync(new URL('../src/operation-paths.ts', import.meta.url), 'utf8');
  expect(text).toBe(pathTables());
});

type Operations = (typeof identityApi.operations)[number] | (typeof issuesApi.operations)[number];
/** The ids of the operations with a code of type `string`; undefined without any. */
type WidenedCodes = {
  [Op in Operations as Op['id']]: string extends ProblemCodeOf<Op> ? Op['id'] : undefined;
}[Operations['id']];

type JsonSchema = Record<string, unknown> & { properties?: Record<string, JsonSchema>; items?: JsonSchema };

/** The paths of the objects in a schema; not of those that may have any member. */
function objectsIn(schema: JsonSchema, schemas: Record<string, JsonSchema>, path = ''): string[] {
  const { $ref, properties, items, additionalProperties, ...more } = schema;
  const parts = [more.anyOf, more.oneOf, more.allOf].flatMap((one) => (one ?? []) as JsonSchema[]);
  const referred = typeof $ref === 'string' ? schemas[$ref.replace('#/components/schemas/', '')] : undefined;
  const isOpen = additionalProperties !== undefined && additionalProperties !== false;
  return [
    ...(more.type === 'object' && !isOpen ? [path] : []),
    ...[...parts, ...(referred === undefined ? [] : [referred])].flatMap((part) =>
      objectsIn(part, schemas, path),
    ),
    ...(items === undefined ? [] : objectsIn(items, schemas, `${path}0.`)),
    ...Object.entries(properties ?? {}).flatMap(([name, one]) => objectsIn(one, schemas, `${path}${name}.`)),
  ];
}

/** A body with one member at a path such as `links.0.`. */
function bodyWith(path: string, member: object): unknown {
  return path
    .split('.')
    .slice(0, -1)
    .reduceRight<unknown>((inner, name) => (name === '0' ? [inner] : { [name]: inner }), member);
}

describe.each([
  ['identity', identityApi],
  ['issues', issuesApi],
] as const)('each member that no operation of %s knows, at any depth of a body,', (_, api) => {
  const { paths, components } = documentOf(api);
  // A server ignores unknown parameters of these (RFC 6749 3.2, RFC 7662 2.1), and trackers send members of their own.
  const ignoring = ['introspectToken', 'takeWebhook'];
  const withBody = (api.operations as readonly Operation[]).filter(
    ({ body, oauth, id }) => body !== undefined && oauth !== true && !ignoring.includes(id),
  );
  it.each(withBody)('is refused or listed by $id', (operation) => {
    const path = operation.path.replace(/:(\w+)/g, '{$1}');
    const { requestBody } = paths[path][operation.method.toLowerCase()];
    const places = objectsIn(requestBody.content['application/json'].schema, components.schemas);
    expect(places).toContain('');
    for (const place of new Set(places)) {
      const body = bodyWith(place, { nobodyKnowsThis: 1 });
      const { error } = operation.body?.schema.safeParse(body) ?? {};
      const refused = (error?.issues ?? []).flatMap((issue) =>
        issue.code === 'unrecognized_keys' ? issue.keys.map((key) => [...issue.path, key].join('.')) : [],
      );
      const listed = ignoredMemberFinder(operation)?.(body) ?? [];
      expect([...refused, ...listed]).toEqual([`${place}nobodyKnowsThis`]);
    }
  });
});
