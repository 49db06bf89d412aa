import { describe, expect, it } from '@jest/globals';
import { validate } from '@readme/openapi-parser';
import express from 'express';
import { type ApiOperation, describeApi, findUndocumentedRoutes, listRoutes } from '../src/index.ts';
import { operations } from './support/operations.ts';

function describeTickets(listed: readonly ApiOperation[] = operations) {
  return describeApi({
    title: 'Tickets',
    version: '1.2.3',
    description: 'A small surface.',
    operations: listed,
    tags: [{ name: 'tickets', description: 'What people ask for.' }],
    securitySchemes: { bearer: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
  });
}

// As its readers see it: parsed from its JSON.
const document = JSON.parse(JSON.stringify(describeTickets()));

const [getTicket, , , signIn] = operations;
if (getTicket === undefined || signIn === undefined) throw new Error('operations are missing');

describe('describeApi', () => {
  it('makes a valid OpenAPI 3.1 document', async () => {
    expect(document.openapi).toMatch(/^3\.1\./);
    expect(await validate(structuredClone(document))).toEqual({
      valid: true,
      warnings: [],
      specification: 'OpenAPI',
    });
  });

  it('is judged by a validator that finds a path parameter without its description', async () => {
    const { params: _, ...withoutParams } = getTicket;
    const wrong = JSON.parse(JSON.stringify(describeTickets([withoutParams])));
    expect(await validate(wrong)).toMatchObject({ valid: false });
  });

  it('writes the paths of the routers as templates', () => {
    expect(Object.keys(document.paths)).toEqual(['/tickets/{id}', '/tickets/', '/token']);
    expect(Object.keys(document.paths['/tickets/{id}'])).toEqual(['get', 'put']);
  });

  it('describes parameters and bodies by the schemas that the routers parse with', () => {
    const { parameters } = document.paths['/tickets/{id}'].get;
    expect(parameters).toEqual([
      expect.objectContaining({ in: 'path', name: 'id', required: true, schema: expect.anything() }),
      expect.objectContaining({ in: 'header', name: 'If-None-Match' }),
    ]);
    expect(document.paths['/tickets/'].get.parameters).toEqual([
      { in: 'query', name: 'limit', schema: { type: 'string', pattern: '^\\d+$' } },
    ]);
    expect(document.paths['/token'].post.requestBody).toEqual({
      required: true,
      content: {
        'application/json': { schema: { $ref: '#/components/schemas/PasswordGrant' } },
        'application/x-www-form-urlencoded': { schema: { $ref: '#/components/schemas/PasswordGrantForm' } },
      },
    });
  });

  it('keeps one component for a schema that is asked for and answered, open to further members', () => {
    expect(document.components.schemas.Ticket).not.toHaveProperty('additionalProperties');
    expect(document.components.schemas).not.toHaveProperty('TicketOutput');
  });

  it('adds what can always happen, and with a body what can happen to it', () => {
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
      '409',
      '413',
      '415',
      '422',
      '429',
      '500',
      '503',
    ]);
  });

  it('gives every refusal the one error body, and that of OAuth where it is marked', () => {
    const { responses } = document.components;
    for (const [name, response] of Object.entries<{ content: object }>(responses)) {
      const $ref = `#/components/schemas/${name.replace(/\d+$/, '')}`;
      expect(response.content).toEqual({
        'application/json': { schema: { $ref } },
        'application/problem+json': { schema: { $ref } },
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

  it("tells an operation's own refusal in its own words", () => {
    const { 409: conflict } = document.paths['/tickets/{id}'].put.responses;
    expect(conflict.description).toBe('`version_conflict`: somebody was faster.');
    expect(conflict.content['application/json'].schema).toEqual({ $ref: '#/components/schemas/Problem' });
  });

  it('names the headers that come with a status', () => {
    const { responses } = document.components;
    const headersOf = (name: string) => Object.keys(responses[name].headers);
    expect(headersOf('Problem401')).toEqual(['X-Request-Id', 'WWW-Authenticate']);
    expect(headersOf('Problem429')).toEqual(['X-Request-Id', 'Retry-After']);
    expect(headersOf('Problem503')).toEqual(['X-Request-Id', 'Retry-After']);
    expect(headersOf('Problem404')).toEqual(['X-Request-Id']);
    const { 200: found } = document.paths['/tickets/{id}'].get.responses;
    expect(Object.keys(found.headers)).toEqual(['X-Request-Id', 'ETag']);
  });

  it('says where a credential is needed and where none is', () => {
    expect(document.paths['/tickets/{id}'].get.security).toEqual([{ bearer: [] }]);
    expect(document.paths['/token'].post.security).toEqual([]);
  });

  it('sends requests to the origin that the document came from', () => {
    expect(document.servers).toEqual([{ url: '/' }]);
  });

  it.each<[string, ApiOperation[], RegExp]>([
    [
      'an operation twice',
      [getTicket, { ...getTicket, operationId: 'again' }],
      /GET \/tickets\/\{id\} .*twice/,
    ],
    ['a path with a wildcard', [{ ...getTicket, path: '/files/*rest' }], /\/files\/\*rest/],
    ['a status that has no words', [{ ...getTicket, problems: [418] }], /418/],
  ])('refuses %s', (_what, listed, message) => {
    expect(() => describeTickets(listed)).toThrow(message);
  });

  it('can be made twice in one process', () => {
    expect(describeTickets()).toEqual(describeTickets());
  });
});

describe('findUndocumentedRoutes', () => {
  function routesOf(...routes: ['get' | 'put' | 'post', string][]) {
    const app = express();
    for (const [method, path] of routes) app[method](path, (_request, response) => void response.end());
    return listRoutes(app);
  }
  const all: ['get' | 'put' | 'post', string][] = [
    ['get', '/tickets/:id'],
    ['put', '/tickets/:id/'],
    ['get', '/tickets'],
    ['post', '/token'],
  ];

  it('finds nothing where both say the same, with or without a slash at the end', () => {
    expect(findUndocumentedRoutes(routesOf(...all), document)).toEqual([]);
  });

  it('finds a route that is not described, and an operation that is not served', () => {
    expect(findUndocumentedRoutes(routesOf(...all.slice(1), ['post', '/tickets']), document)).toEqual([
      'GET /tickets/{id} is described and not served',
      'POST /tickets is served and not described',
    ]);
  });

  it('finds a parameter of another name', () => {
    expect(findUndocumentedRoutes(routesOf(['get', '/tickets/:key'], ...all.slice(1)), document)).toEqual([
      'GET /tickets/{id} is described and not served',
      'GET /tickets/{key} is served and not described',
    ]);
  });
});
