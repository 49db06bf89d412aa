import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { clientSchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createClient, createMachine, redirectUri } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { walk } from './support/pages.ts';
import { issuer, serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

const path = '/internal/clients';
let app: TestApp;
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on' });
});
afterAll(() => app.close());

const internal = internalClient(() => app);
const create = (body: object) => internal('post', path).send(body);
const wiki = { name: 'Wiki', kind: 'confidential', redirect_uris: [redirectUri] };
const patch = (id: string, body: object) =>
  app.http.patch(`${path}/${id}`).set('X-Service-Token', serviceToken).send(body);
const auditOf = async (id: string) =>
  (
    await app.sql<{ type: string }>(
      `SELECT type, details FROM audit_events WHERE details ->> 'client' = $1 ORDER BY id`,
      [id],
    )
  ).map(({ type }) => type);

describe('POST /internal/clients', () => {
  it('registers a confidential client with defaults, and shows its secret this once', async () => {
    const response = await create(wiki).expect(201);
    const { client_secret: secret, ...client } = response.body;
    expect(response.headers.location).toBe(`${path}/${client.client_id}`);
    expect(secret).toMatch(/^[A-Za-z0-9_-]{43}$/);
    expect(client).toMatchObject({
      ...wiki,
      post_logout_redirect_uris: [],
      scopes: ['openid', 'email', 'profile'],
      audiences: [],
      require_pkce: true,
      is_first_party: true,
      identity_id: null,
      jwks: null,
      disabled_at: null,
      last_refusal: null,
    });
    const { body } = await internal('get', `${path}/${client.client_id}`).expect(200);
    expect(body).toEqual(client);
    expect(clientSchema.strict().parse(body)).toEqual(body);
    const rows = await app.sql('SELECT * FROM oauth_clients WHERE id = $1', [client.client_id]);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(await auditOf(client.client_id)).toEqual(['client.created']);
  });

  it('registers a public client and a machine', async () => {
    const native = await create({
      name: 'Phone',
      kind: 'public',
      redirect_uris: ['com.example.phone:/callback', 'http://127.0.0.1/callback', 'http://[::1]:7777/cb?a=b'],
    }).expect(201);
    expect(native.body.client_secret).toBeUndefined();
    const { client, identity } = await createMachine(app, { audiences: ['tessera'] });
    expect(client).toMatchObject({ kind: 'machine', identity_id: identity.id, audiences: ['tessera'] });
    expect(client.client_secret).toBeDefined();
  });

  const jwk = (bits: number) => generateKeyPairSync('rsa', { modulusLength: bits });
  it('accepts public keys instead of a secret', async () => {
    const { publicKey } = jwk(2048);
    const { body } = await create({
      ...wiki,
      jwks: { keys: [{ ...publicKey.export({ format: 'jwk' }), kid: '1' }] },
    }).expect(201);
    expect(body.client_secret).toBeUndefined();
    expect(body.jwks.keys[0].kid).toBe('1');
  });

  it.each([
    ['a private key', { ...jwk(2048).privateKey.export({ format: 'jwk' }) }],
    ['a weak key', { ...jwk(1024).publicKey.export({ format: 'jwk' }) }],
    ['a shared key', { kty: 'oct', k: 'c2VjcmV0' }],
    [
      'another curve',
      { ...generateKeyPairSync('ec', { namedCurve: 'P-384' }).publicKey.export({ format: 'jwk' }) },
    ],
    ['no key', {}],
  ])('refuses %s', async (_name, key) => {
    expectInvalidFields(await create({ ...wiki, jwks: { keys: [key] } }), ['jwks']);
  });

  it.each([
    'http://app.example/callback',
    'https://app.example/callback#fragment',
    'https://app.example/call*',
    'https://*.example/callback',
    'https://user@app.example/callback',
    'https://user:pw@app.example/',
    'https:/app.example/callback',
    'https:app.example',
    'https:///callback',
    '//app.example/callback',
    '/callback',
    'callback',
    '',
    'javascript:alert(1)',
    'data:text/html,x',
    'file:///etc/passwd',
    'myapp:/callback',
    'https://app.example/call back',
    ' https://app.example/callback',
    'https://app.example/callback\n',
    'https://app.example\\@evil.example/',
    'https://äpp.example/callback',
    'http://127.0.0.1.evil.example/callback',
    'http://localhost.evil.example/callback',
    'http://localhost@evil.example/callback',
    'http://127.0.0.1:99999/callback',
    'http://[::2]/callback',
    'http://127.1/callback',
    'ws://app.example/',
    "https://app.example/callback?a='",
    `https://app.example/callback?${'&'.repeat(51)}`,
  ])('refuses the redirect URI %j', async (uri) => {
    expectInvalidFields(await create({ ...wiki, redirect_uris: [uri] }), ['redirect_uris.0']);
  });

  it.each<[string, object, string[]]>([
    ['a long redirect URI', { redirect_uris: [`${redirectUri}${'a'.repeat(2000)}`] }, ['redirect_uris.0']],
    ['no redirect URI', { redirect_uris: [] }, ['redirect_uris']],
    ['a parameter of the response', { redirect_uris: [`${redirectUri}?code=1`] }, ['redirect_uris.0']],
    [
      'too many',
      { redirect_uris: Array.from({ length: 21 }, (_, n) => `${redirectUri}${n}`) },
      ['redirect_uris'],
    ],
    ['a repeated one', { redirect_uris: [redirectUri, redirectUri] }, ['redirect_uris']],
    ['a private scheme of a server', { redirect_uris: ['com.example.app:/cb'] }, ['redirect_uris']],
    ['an identity of a server', { identity_id: unknownId }, ['identity_id']],
    ['a public client without PKCE', { kind: 'public', require_pkce: false }, ['require_pkce']],
    ['a machine with redirect URIs', { kind: 'machine', identity_id: unknownId }, ['redirect_uris']],
    ['a machine without an identity', { kind: 'machine', redirect_uris: [] }, ['identity_id']],
    [
      'a machine of no identity',
      { kind: 'machine', redirect_uris: [], identity_id: unknownId },
      ['identity_id'],
    ],
    ['an unknown scope', { scopes: ['admin'] }, ['scopes.0']],
    ['an audience that could be an id of a client', { audiences: [randomUUID()] }, ['audiences.0']],
    ['the issuer as an audience', { audiences: [issuer] }, ['audiences']],
    [
      'the issuer of OpenID Connect as an audience',
      { audiences: ['tessera', `${issuer}/oidc`] },
      ['audiences'],
    ],
    [
      'a back-channel URI over http',
      { backchannel_logout_uri: 'http://app.example/' },
      ['backchannel_logout_uri'],
    ],
    ['a name without visible text', { name: '\u200b' }, ['name']],
    ['a long name', { name: 'n'.repeat(101) }, ['name']],
    ['an unknown member', { client_secret: 'x' }, ['client_secret']],
    ['an unknown kind', { kind: 'web' }, ['kind']],
  ])('refuses %s', async (_name, change, fields) => {
    expectInvalidFields(await create({ ...wiki, ...change }), fields);
  });

  it('refuses a machine of an identity with a password', async () => {
    const { identity } = await createIdentity(app);
    const machine = { name: 'Robot', kind: 'machine', identity_id: identity.id };
    expectInvalidFields(await create(machine), ['identity_id']);
  });
});

describe('GET /internal/clients', () => {
  it('lists all clients in pages', async () => {
    for (let count = 0; count < 5; count += 1) await createClient(app);
    const { items, pages } = await walk((next) => internal('get', next), `${path}?limit=2`);
    const [row] = await app.sql<{ count: number }>('SELECT count(*)::int AS count FROM oauth_clients');
    expect(items).toHaveLength(row?.count ?? -1);
    expect(pages).toBeGreaterThan(2);
    expectProblem(await internal('get', `${path}/${unknownId}`), 404, 'client_not_found');
    expectInvalidFields(await internal('get', `${path}/x`), ['client_id']);
    expectProblem(await app.http.get(path), 403, 'service_token_refused');
  });
});

describe('PATCH /internal/clients/{client_id}', () => {
  it('changes only the given members, with the rules of the kind', async () => {
    const { client_id: id, client_secret: _, ...client } = await createClient(app);
    const change = {
      name: 'Other',
      scopes: ['openid', 'groups'],
      audiences: ['tessera'],
      require_pkce: false,
    };
    expect((await patch(id, change).expect(200)).body).toEqual({ client_id: id, ...client, ...change });
    expect((await patch(id, {}).expect(200)).body.name).toBe('Other');
    expectInvalidFields(await patch(id, { redirect_uris: [] }), ['redirect_uris']);
    expectInvalidFields(await patch(id, { kind: 'public' }), ['kind']);
    expectProblem(await patch(unknownId, {}), 404, 'client_not_found');
    expect(await auditOf(id)).toEqual(['client.created', 'client.updated']);
  });

  it('does not leave a client without a credential', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const { client_id: id } = await createClient(app, {
      jwks: { keys: [publicKey.export({ format: 'jwk' }) as Record<string, unknown>] },
    });
    expectInvalidFields(await patch(id, { jwks: null }), ['jwks']);
    await internal('post', `${path}/${id}/rotate-secret`).expect(200);
    expect((await patch(id, { jwks: null }).expect(200)).body.jwks).toBeNull();
  });
});

describe('the secret and the end of a client', () => {
  it('are a new secret, the present one for a day, and none of a public client', async () => {
    const { client_id: id, client_secret: first } = await createClient(app);
    const { body } = await internal('post', `${path}/${id}/rotate-secret`).expect(200);
    expect(body.client_secret).not.toBe(first);
    const hours = (Date.parse(body.previous_valid_until) - Date.now()) / 3_600_000;
    expect(Math.round(hours)).toBe(24);
    const { client_id: other } = await createClient(app, { kind: 'public' });
    const refused = await internal('post', `${path}/${other}/rotate-secret`);
    expectProblem(refused, 409, 'client_without_secret');
  });

  it('are for good', async () => {
    const { client_id: id } = await createClient(app);
    await internal('delete', `${path}/${id}`).expect(204);
    const { body } = await internal('get', `${path}/${id}`).expect(200);
    expect(body.disabled_at).not.toBeNull();
    await internal('delete', `${path}/${id}`).expect(204);
    expect((await internal('get', `${path}/${id}`)).body.disabled_at).toBe(body.disabled_at);
    expectProblem(await patch(id, { name: 'Back' }), 409, 'client_disabled');
    expectProblem(await internal('post', `${path}/${id}/rotate-secret`), 409, 'client_disabled');
    expectProblem(await internal('delete', `${path}/${unknownId}`), 404, 'client_not_found');
    expect(await auditOf(id)).toEqual(['client.created', 'client.disabled']);
  });
});
