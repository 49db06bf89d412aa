import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, request as send } from 'node:http';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { type Access, everyone, type Handler, ProblemError, route } from '../src/index.ts';
import { listenOnFreePort } from './support/raw-http.ts';
import { getRoute, startApp, testOperation } from './support/test-app.ts';

const long = { text: 'é'.repeat(2_000) };
const operation = testOperation({
  path: '/things/:kind',
  params: z.object({ kind: z.string() }),
  headers: z.object({ 'If-Match': z.string().optional(), 'If-None-Match': z.string().optional() }),
  responses: { 200: { description: 'A thing.', schema: z.unknown() }, 304: { description: 'The same.' } },
});
const seen: unknown[] = [];
const answer: Handler<typeof operation> = ({ params: { kind }, headers }) => {
  seen.push(headers);
  if (kind === 'error')
    throw new ProblemError({ status: 409, code: 'version_conflict', detail: 'x'.repeat(2_000) });
  if (kind === 'same') return { status: 304, headers: { ETag: '"1-a"' } };
  if (kind === 'short') return { status: 200, body: { text: 'x'.repeat(1_000) } };
  return { status: 200, headers: { ETag: kind === 'weak' ? 'W/"1"' : '"1-a"' }, body: long };
};
const crossOrigin = { origins: ['https://app.test'], methods: ['GET'] };
const access: Access<undefined> = { ...everyone, crossOrigin };

let server: Server;
let port: number;
beforeAll(async () => {
  const { app } = startApp([
    route(operation, { access, compress: () => true }, answer),
    getRoute('/plain', () => ({ status: 200, body: long })),
  ]);
  server = createServer(app);
  port = await listenOnFreePort(server);
});
afterAll(() => {
  server.close();
});

interface Received {
  status: number | undefined;
  headers: IncomingMessage['headers'];
  bytes: Buffer;
}

async function get(path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
  const request = send({ port, path, headers, method, agent: false }).end();
  const [response]: IncomingMessage[] = await once(request, 'response');
  if (response === undefined) throw new Error('no response');
  const parts: Buffer[] = [];
  for await (const part of response) parts.push(part);
  return { status: response.statusCode, headers: response.headers, bytes: Buffer.concat(parts) };
}

function decoded({ headers, bytes }: Received): unknown {
  const decode = { br: brotliDecompressSync, gzip: gunzipSync }[headers['content-encoding'] ?? ''];
  return JSON.parse(String(decode?.(bytes) ?? bytes));
}

describe('a response of a route with compression', () => {
  it.each([
    ['gzip', 'gzip'],
    ['br', 'br'],
    ['gzip, deflate, br, zstd', 'br'],
    ['gzip;q=0.5, br;q=0', 'gzip'],
    ['gzip;q=1, br;q=0.1', 'gzip'],
    ['gzip;q=0.1, identity;q=1', undefined],
    ['identity;q=0.5, gzip;q=0.8', 'gzip'],
    ['br;q=0.9, gzip;q=0.8, *;q=0.1', 'br'],
    ['*', 'br'],
    ['deflate', undefined],
    ['identity', undefined],
    ['gzip;q=0', undefined],
    ['', undefined],
    [',;q=,', undefined],
  ])('for Accept-Encoding: %s is coded as %s', async (accepted, coding) => {
    const response = await get('/things/long', { 'Accept-Encoding': accepted });
    expect(response.headers['content-encoding']).toBe(coding);
    expect(response.headers).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(response.bytes.length),
      'cache-control': 'no-store',
      vary: 'Origin, Accept-Encoding',
    });
    expect(response.bytes.length < 1_000).toBe(coding !== undefined);
    expect(decoded(response)).toEqual(long);
  });

  it('is not coded without Accept-Encoding, and if it is short, an error, or of another route', async () => {
    const accepting = { 'Accept-Encoding': 'gzip, br' };
    const plain = await get('/things/long');
    expect(plain.headers).toMatchObject({ etag: '"1-a"', vary: 'Origin, Accept-Encoding' });
    for (const response of [
      plain,
      await get('/things/short', accepting),
      await get('/things/error', accepting),
      await get('/plain', accepting),
    ]) {
      expect(response.headers).not.toHaveProperty('content-encoding');
      expect(response.headers['content-length']).toBe(String(response.bytes.length));
    }
  });

  it('has a strong ETag for each coding, and one weak ETag for all', async () => {
    const etagOf = async (path: string, accepted: string) =>
      (await get(path, { 'Accept-Encoding': accepted })).headers.etag;
    expect(await etagOf('/things/long', 'gzip')).toBe('"1-a+gzip"');
    expect(await etagOf('/things/long', 'br')).toBe('"1-a+br"');
    expect(await etagOf('/things/weak', 'br')).toBe('W/"1"');
  });

  it('gives the handler the ETags without their codings', async () => {
    await get('/things/long', { 'If-Match': '"1-a+gzip", "2"', 'If-None-Match': 'W/"1-a+br"' });
    expect(seen.at(-1)).toEqual({ 'If-Match': '"1-a", "2"', 'If-None-Match': 'W/"1-a"' });
  });

  it('has the ETag of the representation that the client has as a 304', async () => {
    for (const known of ['"1-a+gzip"', '"1-a+br"', '"1-a"']) {
      const { status, headers, bytes } = await get('/things/same', {
        'If-None-Match': `"x", ${known}`,
        'Accept-Encoding': 'gzip, br',
      });
      expect([status, headers.etag, headers.vary, bytes.length]).toEqual([
        304,
        known,
        'Origin, Accept-Encoding',
        0,
      ]);
      expect(headers).not.toHaveProperty('content-encoding');
    }
  });

  it('has the headers of GET, without the length, for HEAD', async () => {
    const accepting = { 'Accept-Encoding': 'gzip' };
    const [own, head] = [await get('/things/long', accepting), await get('/things/long', accepting, 'HEAD')];
    const fixed = ({ 'content-length': _, date, 'x-request-id': id, ...headers }: Received['headers']) =>
      headers;
    expect(fixed(head.headers)).toEqual(fixed(own.headers));
    expect(head.headers).not.toHaveProperty('content-length');
    expect(head.bytes.length).toBe(0);
  });

  it('is sent as it is while two others are compressed', async () => {
    const many = Array.from({ length: 20 }, () => get('/things/long', { 'Accept-Encoding': 'gzip' }));
    const responses = await Promise.all(many);
    expect(responses.map(decoded)).toEqual(responses.map(() => long));
    const codings = responses.map(({ headers }) => headers['content-encoding']);
    expect(codings).toContain('gzip');
    const { headers } = await get('/things/long', { 'Accept-Encoding': 'gzip' });
    expect(headers['content-encoding']).toBe('gzip');
  });
});
