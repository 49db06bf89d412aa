import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreateIdentity } from '@tessera/contracts';
import { findUndocumentedRoutes, listRoutes } from '@tessera/service-kit';
import type { Response } from 'supertest';
import { describeIssuesApi } from '../src/api-description.ts';
import { createApp } from '../src/app.ts';
import { type FullApp, startFullApp } from './support/full-app.ts';
import { IdentityService, serviceToken } from './support/identity-service.ts';
import './support/leak-guard.ts';
import { rememberSecret } from './support/leaks.ts';
import { expectProblem } from './support/problems.ts';

const password = rememberSecret('a password of the tests');
const anotherPassword = rememberSecret('another password of the tests');
const anEmail = () => `ann-${randomBytes(6).toString('hex')}@example.com`;
const mirrorFields = `id, username, email, sso_provider, sso_id, is_active, is_verified, is_staff, is_superuser`;

let identity: IdentityService;
let app: FullApp;
beforeAll(async () => {
  identity = await IdentityService.start();
  app = await startFullApp({ IDENTITY_URL: identity.url, JWT_ISSUER: identity.url });
}, 60_000);
afterAll(async () => {
  await app.close();
  await identity.down();
});

/** A person with a session: `as(method, path)` sends with their token. */
async function aPerson(overrides: Partial<CreateIdentity> = {}) {
  const created = await identity.create({ email: anEmail(), password, ...overrides });
  const tokens = await identity.signIn(created.email, password);
  const as = (method: 'get' | 'post' | 'put' | 'patch' | 'delete', path: string) =>
    app.http[method](`/api/v1${path}`).set('Authorization', `Bearer ${tokens.access_token}`);
  return { ...created, tokens, as };
}

const rowOf = async (id: string) =>
  (await app.sql(`SELECT ${mirrorFields} FROM identity_mirror WHERE id = $1`, [id]))[0];

describe('the OpenAPI document', () => {
  it('describes every route of the whole service, and nothing that is not served', async () => {
    const routes = listRoutes(createApp(app.dependencies)).filter(
      // The document and its page are no part of the API that they describe.
      ({ path }) => path !== '/api/openapi.json' && path !== '/api/docs',
    );
    expect(findUndocumentedRoutes(routes, describeIssuesApi())).toEqual([]);
    const { body } = await app.http.get('/api/openapi.json').expect(200);
    expect(body.openapi).toBe('3.1.0');
    for (const path of ['/api/docs', '/api/docs/']) {
      expect((await app.http.get(path).expect(200)).text).toContain('<title>Tessera issues</title>');
    }
  });
});

describe('authentication', () => {
  it('wants a valid access token on everything below /api/v1', async () => {
    const ann = await aPerson();
    for (const path of ['/issues', '/issues/1', '/users/me', '/nothing']) {
      expect((await app.http.get(`/api/v1${path}`)).status).toBe(401);
      const refused = await app.http
        .get(`/api/v1${path}`)
        .set('Authorization', `Bearer ${ann.tokens.refresh_token}`);
      expectProblem(refused, 401, 'invalid_token');
      expect(refused.headers['www-authenticate']).toContain('realm="issues", error="invalid_token"');
    }
    await ann.as('get', '/issues').expect(200);
  });

  it('takes a first-seen person into the mirror from the claims, without asking identity', async () => {
    const ann = await aPerson({ username: 'ann', is_verified: true });
    const { body } = await ann.as('get', '/users/me/').expect(200);
    expect(body).toEqual(await rowOf(ann.id));
    expect(body).toMatchObject({
      id: ann.id,
      username: 'ann',
      email: ann.email,
      is_verified: true,
      is_active: true,
    });
  });

  it('lets no older token undo a newer fact, and no token grant a right that the mirror has taken', async () => {
    const ann = await aPerson({ is_staff: true });
    await ann.as('get', '/users/me').expect(200);
    const root = await aPerson({ is_superuser: true, is_staff: true });
    await root.as('put', `/users/${ann.id}`).send({ is_staff: false, username: 'demoted' }).expect(200);
    expectProblem(await ann.as('post', '/users').send({ email: anEmail(), password }), 403, 'forbidden');
    expect(await rowOf(ann.id)).toMatchObject({ username: 'demoted', is_staff: false });
    const { body } = await ann.as('get', '/users/me').expect(200);
    expect(body.username).toBe('demoted');
  });

  it('refuses somebody who was deactivated here at once, and keeps the row', async () => {
    const [staff, ann] = [await aPerson({ is_staff: true }), await aPerson()];
    await ann.as('get', '/issues').expect(200);
    await staff.as('delete', `/users/${ann.id}`).expect(204);
    const refused = await ann.as('get', '/issues');
    expectProblem(refused, 401, 'identity_inactive');
    expect(refused.headers['www-authenticate']).toContain('error="invalid_token"');
    expect(await rowOf(ann.id)).toMatchObject({ is_active: false, username: ann.username });
  });

  it('wants a verified identity where it is told to', async () => {
    const strict = await startFullApp(
      { IDENTITY_URL: identity.url, JWT_ISSUER: identity.url, REQUIRE_VERIFIED: 'write' },
      app.databaseUrl,
    );
    const ann = await aPerson();
    const bearer = `Bearer ${ann.tokens.access_token}`;
    await strict.http.get('/api/v1/issues').set('Authorization', bearer).expect(200);
    expectProblem(
      await strict.http.post('/api/v1/issues').set('Authorization', bearer).send({ title: 'x' }),
      403,
      'unverified',
    );
    await strict.close();
  });

  it('answers 503, never 401, while there are no keys to verify with', async () => {
    const ann = await aPerson();
    const keyless = await startFullApp(
      { IDENTITY_URL: 'http://127.0.0.1:1', JWT_ISSUER: identity.url },
      app.databaseUrl,
    );
    const response = await keyless.http
      .get('/api/v1/issues')
      .set('Authorization', `Bearer ${ann.tokens.access_token}`);
    expectProblem(response, 503, 'temporarily_unavailable');
    expect(Number(response.headers['retry-after'])).toBeGreaterThan(0);
    const ready = await keyless.http.get('/readyz').expect(503);
    expect(ready.body.checks).toMatchObject({ keys: false, database: true });
    await keyless.close();
  });
});

describe('/api/v1/users', () => {
  it('creates through identity, and mirrors its answer', async () => {
    const staff = await aPerson({ is_staff: true });
    const email = anEmail();
    const response = await staff
      .as('post', '/users/')
      .send({ email, password, is_verified: true })
      .expect(201);
    expect(response.headers.location).toMatch(new RegExp(`/api/v1/users/${response.body.id}/$`));
    expect(response.body).toEqual(await rowOf(response.body.id));
    expect(JSON.stringify(response.body)).not.toContain(password);
    expect((await identity.signIn(email, password)).token_type).toBe('Bearer');
  });

  it('passes on what identity refuses, with its fields', async () => {
    const staff = await aPerson({ is_staff: true });
    expectProblem(
      await staff.as('post', '/users').send({ email: staff.email, password }),
      409,
      'email_conflict',
    );
    const weak = await staff.as('post', '/users').send({ email: anEmail(), password: 'short' });
    expectProblem(weak, 422, 'validation_failed');
    expect(weak.body.errors[0].field).toBe('password');
    expectProblem(await staff.as('put', '/users/not-a-uuid').send({}), 422, 'validation_failed');
    expectProblem(
      await staff.as('put', '/users/00000000-0000-4000-8000-000000000000').send({}),
      404,
      'user_not_found',
    );
  });

  it.each<[actor: Partial<CreateIdentity>, person: Partial<CreateIdentity>, change: object, status: number]>([
    [{}, {}, { username: 'x' }, 403],
    [{ is_staff: true }, {}, { username: 'x' }, 200],
    [{ is_staff: true }, {}, { password: anotherPassword }, 200],
    [{ is_staff: true }, {}, { is_staff: true }, 403],
    [{ is_staff: true }, {}, { is_superuser: false }, 403],
    [{ is_staff: true }, { is_staff: true }, { password: anotherPassword }, 403],
    [{ is_staff: true }, { is_superuser: true }, { is_active: false }, 403],
    [{ is_superuser: true }, { is_staff: true }, { is_staff: false }, 200],
    [{ is_superuser: true }, { is_superuser: true }, { password: anotherPassword }, 200],
  ])('%j changing %j by %j is %d', async (actor, person, change, status) => {
    const [changer, changed] = [
      await aPerson(actor),
      await identity.create({ email: anEmail(), password, ...person }),
    ];
    const response = await changer.as('patch', `/users/${changed.id}`).send(change);
    expect(response.status).toBe(status);
    if (status === 403) {
      expectProblem(response, 403, 'forbidden');
      expect(
        (await app.sql('SELECT 1 FROM identity_mirror WHERE id = $1 AND NOT is_active', [changed.id])).length,
      ).toBe(0);
    }
  });

  it('shows everybody who somebody is, and staff everything', async () => {
    const prefix = `p${randomBytes(4).toString('hex')}`;
    const [ann, staff] = [
      await aPerson({ username: `${prefix}_ann` }),
      await aPerson({ username: `${prefix}%bob`, is_staff: true }),
    ];
    await ann.as('get', '/users/me').expect(200);
    await staff.as('get', '/users/me').expect(200);
    const seen = await ann.as('get', `/users?search=${prefix}`).expect(200);
    expect(seen.body).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ id: ann.id }),
        { id: staff.id, username: staff.username },
      ]),
    );
    expect(JSON.stringify(seen.body)).not.toContain(staff.email);
    const all = await staff.as('get', `/users?search=${prefix.toUpperCase()}`).expect(200);
    expect(all.body).toHaveLength(2);
    expect(all.body[0]).toHaveProperty('email');
    // What LIKE takes for a pattern is text here.
    expect((await ann.as('get', `/users?search=${encodeURIComponent(`${prefix}%`)}`)).body).toEqual([
      { id: staff.id, username: staff.username },
    ]);
    expect((await ann.as('get', `/users?search=${encodeURIComponent(staff.email)}`)).body).toEqual([]);
    expect((await staff.as('get', `/users?search=${encodeURIComponent(ann.email)}`)).body).toMatchObject([
      { id: ann.id },
    ]);
  });

  it('pages by keyset, keeps the filters in the link, and refuses what it does not know', async () => {
    const prefix = `q${randomBytes(4).toString('hex')}`;
    const staff = await aPerson({ is_staff: true });
    for (const number of [1, 2, 3])
      await staff
        .as('post', '/users')
        .send({ email: anEmail(), username: `${prefix}-${number}`, password })
        .expect(201);
    const names: string[] = [];
    let path: string | undefined = `/users/?search=${prefix}&limit=2`;
    while (path !== undefined) {
      const response: Response = await staff.as('get', path).expect(200);
      names.push(...response.body.map((user: { username: string }) => user.username));
      path = /<[^>]*\/api\/v1([^>]*)>; rel="next"/.exec(response.headers.link ?? '')?.[1];
      if (path !== undefined) expect(path).toContain(`search=${prefix}`);
    }
    expect(names.sort()).toEqual([1, 2, 3].map((number) => `${prefix}-${number}`));
    for (const query of ['offset=3', 'limit=0', 'is_active=maybe', 'cursor=x']) {
      expect((await staff.as('get', `/users?${query}`)).status).toBe(422);
    }
  });
});

describe('the identity mirror', () => {
  const assign = async (person: object) => {
    const reporter = await aPerson();
    return reporter.as('post', '/issues').send({ title: 'x', ...person });
  };

  it('resolves an assignee by id and by e-mail through identity, and keeps the answer', async () => {
    const [ann, bob] = [
      await identity.create({ email: anEmail(), password }),
      await identity.create({ email: anEmail(), password }),
    ];
    const byId = await assign({ assignee_id: ann.id });
    expect(byId.status).toBe(201);
    expect(byId.body.assignee).toEqual({ id: ann.id, username: ann.username });
    expect((await assign({ assignee_email: bob.email.toUpperCase() })).body.assignee).toEqual({
      id: bob.id,
      username: bob.username,
    });
    expect(await rowOf(bob.id)).toMatchObject({ email: bob.email, is_active: true });
  });

  it('refuses somebody unknown or inactive with 422 that names the field', async () => {
    const gone = await identity.create({ email: anEmail(), password, is_active: false });
    const unknown = await assign({ assignee_id: '00000000-0000-4000-8000-000000000000' });
    expectProblem(unknown, 422, 'unknown_identity');
    expect(unknown.body.errors[0].field).toBe('assignee_id');
    expect((await assign({ assignee_email: anEmail() })).status).toBe(422);
    expectProblem(await assign({ assignee_id: gone.id }), 422, 'validation_failed');
  });

  it('marks an identity inactive that identity does not know any more, and lets its e-mail pass to another', async () => {
    const email = anEmail();
    const first = await identity.create({ email, password });
    expect((await assign({ assignee_id: first.id })).status).toBe(201);
    await identity.delete(first.id);
    const second = await identity.create({ email, password });
    await app.sql(`UPDATE identity_mirror SET checked_at = now() - interval '1 hour' WHERE id = $1`, [
      first.id,
    ]);
    expect((await assign({ assignee_email: email })).body.assignee).toMatchObject({ id: second.id });
    expectProblem(await assign({ assignee_id: first.id }), 422, 'unknown_identity');
    expect(await rowOf(first.id)).toMatchObject({ is_active: false, email });
    expect(await rowOf(second.id)).toMatchObject({ is_active: true, email });
  });

  it('keeps the newest of answers that arrive in any order', async () => {
    const { mirrorRepository: repository } = app;
    const id = '00000000-0000-4000-8000-00000000abcd';
    const known = {
      id,
      email: 'x@example.com',
      ssoProvider: null,
      ssoId: null,
      isActive: true,
      isVerified: false,
      isStaff: false,
      isSuperuser: false,
    };
    const moments = Array.from({ length: 30 }, (_, index) => new Date(1_700_000_000_000 + index));
    const crossing = { askedAt: new Date(1_600_000_000_000), answeredAt: new Date(1_800_000_000_000) };
    await Promise.all(
      moments
        .toSorted(() => Math.random() - 0.5)
        .map((updatedAt) =>
          repository.keep(
            { ...known, username: `at ${updatedAt.getTime() % 100}`, updatedAt },
            'lookup',
            crossing,
          ),
        ),
    );
    expect(await rowOf(id)).toMatchObject({ username: 'at 29' });
  });
});

describe('while identity is down', () => {
  it('does everything but what needs identity, and recovers by itself', async () => {
    const [ann, known, staff] = [await aPerson(), await aPerson(), await aPerson({ is_staff: true })];
    const { body: issue } = await ann
      .as('post', '/issues')
      .send({ title: 'x', assignee_id: known.id })
      .expect(201);
    await staff.as('get', '/users/me').expect(200);
    const unseen = await identity.create({ email: anEmail(), password });
    await identity.down();

    await ann.as('get', '/issues').expect(200);
    await ann.as('get', `/issues/${issue.key}`).expect(200);
    await ann.as('post', '/issues').send({ title: 'y' }).expect(201);
    await ann.as('put', `/issues/${issue.id}`).send({ title: 'z' }).expect(200);
    await ann.as('post', `/issues/${issue.id}/comments`).send({ body: 'still here' }).expect(201);
    await ann.as('post', `/issues/${issue.id}/status`).send({ status: 'IN_PROGRESS' }).expect(200);
    await ann.as('get', '/users').expect(200);
    await app.http.get('/readyz').expect(200);
    // Somebody whom the mirror has seen today stands in for the answer, although it is not fresh.
    await app.sql(`UPDATE identity_mirror SET checked_at = now() - interval '1 hour' WHERE id = $1`, [
      known.id,
    ]);
    await ann.as('post', '/issues').send({ title: 'w', assignee_id: known.id }).expect(201);

    const refused = await ann.as('post', '/issues').send({ title: 'v', assignee_id: unseen.id });
    expectProblem(refused, 503, 'identity_unavailable');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    expectProblem(
      await staff.as('post', '/users').send({ email: anEmail(), password }),
      503,
      'identity_unavailable',
    );

    await identity.up();
    const deadline = Date.now() + 20_000;
    let recovered = refused;
    while (recovered.status !== 201 && Date.now() < deadline) {
      recovered = await ann.as('post', '/issues').send({ title: 'v', assignee_id: unseen.id });
      await new Promise((resolve) => setTimeout(resolve, 250));
    }
    expect(recovered.status).toBe(201);
  }, 60_000);
});

// Only the faults of a far side are played by a stub; the tokens are of the real identity.
describe('a faulty identity', () => {
  let stub: Server;
  let answer: RequestListener;
  let seen: { url: string | undefined; token: string | undefined }[] = [];
  let faulty: FullApp;
  let bearer: string;
  beforeAll(async () => {
    stub = createServer((request, response) => {
      seen.push({ url: request.url, token: request.headersDistinct['x-service-token']?.[0] });
      answer(request, response);
    });
    await new Promise<void>((resolve) => stub.listen(0, '127.0.0.1', resolve));
    const url = `http://127.0.0.1:${(stub.address() as AddressInfo).port}`;
    bearer = `Bearer ${(await aPerson({ is_staff: true, is_superuser: true })).tokens.access_token}`;
    faulty = await startFullApp(
      {
        IDENTITY_URL: url,
        JWKS_URI: `${identity.url}/jwks`,
        JWT_ISSUER: identity.url,
        IDENTITY_TIMEOUT_MS: '300',
      },
      app.databaseUrl,
    );
  });
  afterAll(async () => {
    stub.closeAllConnections();
    stub.close();
    await faulty.close();
  });

  const someId = () => `00000000-0000-4000-8000-${randomBytes(6).toString('hex')}`;
  const assign = (id = someId()) =>
    faulty.http.post('/api/v1/issues').set('Authorization', bearer).send({ title: 'x', assignee_id: id });

  it('that redirects is not followed, and the service token goes nowhere else', async () => {
    let heard = 0;
    const elsewhere = createServer((_request, response) => {
      heard += 1;
      response.end('{}');
    });
    await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
    const { port } = elsewhere.address() as AddressInfo;
    answer = (_request, response) => response.writeHead(302, { Location: `http://127.0.0.1:${port}/` }).end();
    expectProblem(await assign(), 502, 'identity_answer_invalid');
    expect(heard).toBe(0);
    elsewhere.close();
  });

  it('that answers nonsense is a 502', async () => {
    for (const text of ['{"id":7}', 'not json', '[]', '{}']) {
      answer = (_request, response) => response.setHeader('Content-Type', 'application/json').end(text);
      expectProblem(await assign(), 502, 'identity_answer_invalid');
    }
  });

  it('that refuses our service token is a 502 for the operator, asked once and logged without the token', async () => {
    answer = (_request, response) => response.writeHead(403).end('{}');
    seen = [];
    expectProblem(await assign(), 502, 'identity_credentials_rejected');
    expect(seen).toHaveLength(1);
    expect(faulty.log.join('')).toContain('check SERVICE_TOKEN');
    expect(faulty.log.join('')).not.toContain(serviceToken);
  });

  it('is asked once for 50 callers who want the same', async () => {
    seen = [];
    answer = (_request, response) => setTimeout(() => response.writeHead(404).end('{}'), 100);
    const id = someId();
    const answers = await Promise.all(Array.from({ length: 50 }, () => assign(id)));
    expect(answers.every((response) => response.status === 422)).toBe(true);
    expect(seen).toHaveLength(1);
    // For half a minute nobody asks again after a person who does not exist.
    await assign(id);
    expect(seen).toHaveLength(1);
  });

  it('that fails is asked three times for a GET and once for a change, and then left alone for a while', async () => {
    answer = (_request, response) => response.writeHead(503).end('{}');
    seen = [];
    expectProblem(await assign(), 503, 'identity_unavailable');
    expect(seen).toHaveLength(3);
    seen = [];
    const create = () =>
      faulty.http.post('/api/v1/users').set('Authorization', bearer).send({ email: anEmail(), password });
    expectProblem(await create(), 503, 'create_outcome_unknown');
    expect(seen.filter(({ url }) => url === '/internal/identities')).toHaveLength(1);
    for (let count = 0; count < 5; count += 1) await assign();
    seen = [];
    expectProblem(await assign(), 503, 'identity_unavailable');
    expect(seen).toEqual([]);
  });
});
