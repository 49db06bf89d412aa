import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Response, Test } from 'supertest';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/leak-guard.ts';
import { aPerson, type TestPerson } from './support/people.ts';

/** What differs from answer to answer, whoever gives it. */
const ownHeaders = ['date', 'x-request-id', 'connection', 'keep-alive', 'ratelimit'];
const limits = { RATE_LIMIT_READS_PER_MINUTE: '1000', RATE_LIMIT_WRITES_PER_MINUTE: '1000' };

let app: TestApp;
let withOrigins: TestApp;
let ann: TestPerson;
let issue: string;
beforeAll(async () => {
  app = await startTestApp(limits);
  withOrigins = await startTestApp({ ...limits, CORS_ORIGINS: 'https://app.test' }, app);
  ann = await aPerson(app);
  issue = (await ann.post('/api/v1/issues/', { title: 'Printer does not print' }).expect(201)).body.id;
}, 60_000);
afterAll(async () => {
  await withOrigins.close();
  await app.close();
});

/** How a request is spelt: Express reads a path in any case, a direct route has one spelling. */
type Spelling = '/api/v1' | '/API/v1';

const send = (method: 'get' | 'post', path: string, to: TestApp = app): Test => ann.on(to)[method](path);

const requests: [string, (base: Spelling) => Test][] = [
  ['GET an issue', (base) => send('get', `${base}/issues/${issue}/`)],
  ['GET an issue by its key', (base) => send('get', `${base}/issues/ISS-1`)],
  ['GET an issue that is known', (base) => send('get', `${base}/issues/${issue}/`).set('If-None-Match', '*')],
  ['GET an issue that is not there', (base) => send('get', `${base}/issues/${randomUUID()}/`)],
  ['GET what names no issue', (base) => send('get', `${base}/issues/x-y/`)],
  ['GET a list', (base) => send('get', `${base}/issues/`)],
  ['GET an envelope', (base) => send('get', `${base}/issues/?page_size=1&search=print%65r`)],
  ['GET a list with a bad query', (base) => send('get', `${base}/issues/?limit=x&status=OPEN&status=CLOSED`)],
  ['GET with origins allowed', (base) => send('get', `${base}/issues/${issue}/`, withOrigins)],
  [
    'GET of another origin',
    (base) => send('get', `${base}/issues/`, withOrigins).set('Origin', 'https://app.test'),
  ],
  ['GET without a token', (base) => app.http.get(`${base}/issues/`)],
  ['GET with a bad token', (base) => app.http.get(`${base}/issues/`).auth('x', { type: 'bearer' })],
  ['POST an issue that has no title', (base) => send('post', `${base}/issues/`).send({})],
  ['POST text', (base) => send('post', `${base}/issues/`).type('text/plain').send('x')],
  ['POST what is not JSON', (base) => send('post', `${base}/issues/`).type('json').send('{')],
  ['POST without a token', (base) => app.http.post(`${base}/issues/`).send({ title: 'x' })],
];

describe('a direct route answers what Express would', () => {
  it.each(requests)('%s', async (_name, request) => {
    const [direct, express] = [await request('/api/v1'), await request('/API/v1')];
    expect(essence(direct)).toEqual(essence(express));
  });

  it('POST an issue', async () => {
    const create = (base: Spelling) => send('post', `${base}/issues/`).send({ title: 'Twice' }).expect(201);
    const [direct, express] = [await create('/api/v1'), await create('/API/v1')];
    expect(Object.keys(direct.headers).sort()).toEqual(Object.keys(express.headers).sort());
    const { id: _, key: __, number: ___, created_at: ____, updated_at: _____, ...shown } = direct.body;
    expect(express.body).toMatchObject(shown);
  });

  it('POST an issue with one Idempotency-Key', async () => {
    const create = (base: Spelling) =>
      send('post', `${base}/issues/`).set('Idempotency-Key', 'once').send({ title: 'Once' }).expect(201);
    const first = await create('/api/v1');
    const again = await create('/api/v1');
    expect(again.body).toEqual(first.body);
    expect(again.headers['idempotency-replayed']).toBe('true');
  });
});

function essence({ status, headers, text }: Response) {
  const named = Object.entries(headers).filter(([name]) => !ownHeaders.includes(name));
  return { status, headers: Object.fromEntries(named), text: text.replace(/"request_id":"[^"]*"/, '') };
}
