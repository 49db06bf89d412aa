import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { SignJWT } from 'jose';
import { createClient } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { basic, exchange, oidcIssuer, signInFor } from './support/oidc.ts';
import { issuer, startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let client: CreatedClient;
let other: CreatedClient;
beforeAll(async () => {
  app = await startTestApp({ HOSTED_SIGN_IN: 'on' });
  client = await createClient(app);
  other = await createClient(app);
});
afterAll(() => app.close());

const internal = internalClient(() => app);

describe('the authentication of a client', () => {
  const attempt = (fields: Record<string, string>, authorization?: string) => {
    const test = app.http.post('/oidc/token').type('form');
    if (authorization !== undefined) test.set('Authorization', authorization);
    return test.send({ grant_type: 'refresh_token', refresh_token: 'x', ...fields });
  };
  const header = (text: string) => `Basic ${Buffer.from(text).toString('base64')}`;
  const accepted = async (test: ReturnType<typeof attempt>) => (await test).body.error === 'invalid_grant';

  it('accepts Basic and post, and both secrets during a rotation', async () => {
    const { client_id, client_secret: first } = await createClient(app);
    expect(await accepted(attempt({}, basic({ client_id, client_secret: first })))).toBe(true);
    expect(await accepted(attempt({ client_id, client_secret: first }))).toBe(true);
    const rotate = () => internal('post', `/internal/clients/${client_id}/rotate-secret`);
    const { client_secret: second } = (await rotate().expect(200)).body;
    expect(await accepted(attempt({ client_id, client_secret: first }))).toBe(true);
    expect(await accepted(attempt({ client_id, client_secret: second }))).toBe(true);
    await rotate().expect(200);
    expect(await accepted(attempt({ client_id, client_secret: first }))).toBe(false);
    await app.sql(
      `UPDATE oauth_clients SET previous_secret_expires_at = now() - interval '1 second' WHERE id = $1`,
      [client_id],
    );
    // Also the change of another process takes effect within 5 seconds.
    const until = performance.now() + 5_000;
    while ((await accepted(attempt({ client_id, client_secret: second }))) && performance.now() < until)
      await new Promise((resolve) => setTimeout(resolve, 100));
    expect(await accepted(attempt({ client_id, client_secret: second }))).toBe(false);
  });

  it('ends at once when the client is disabled', async () => {
    const one = await createClient(app);
    expect(await accepted(attempt({}, basic(one)))).toBe(true);
    await internal('delete', `/internal/clients/${one.client_id}`).expect(204);
    const refused = await attempt({}, basic(one));
    expect([refused.status, refused.body.error]).toEqual([401, 'invalid_client']);
  });

  it.each<[string, () => ReturnType<typeof attempt>]>([
    ['no credential', () => attempt({})],
    ['an unknown client', () => attempt({}, basic({ client_id: randomUUID(), client_secret: 'x' }))],
    ['a client that is no UUID', () => attempt({ client_id: 'tessera' })],
    ['a wrong secret', () => attempt({}, basic({ client_id: client.client_id, client_secret: 'x' }))],
    ['no secret', () => attempt({ client_id: client.client_id })],
    [
      'another spelling of the id',
      () => attempt({}, basic({ ...client, client_id: client.client_id.toUpperCase() })),
    ],
    ['bad percent-encoding', () => attempt({}, header(`${client.client_id}:%E0%A4%A`))],
    ['a percent sign alone', () => attempt({}, header('%:%'))],
    ['no colon', () => attempt({}, header('x'))],
    ['no base64', () => attempt({}, 'Basic !!')],
    ['another scheme', () => attempt({}, 'Bearer x')],
    ['another client_id', () => attempt({ client_id: other.client_id }, basic(client))],
    [
      'bytes that are not UTF-8',
      () => attempt({}, `Basic ${Buffer.from([0xff, 0x3a, 0xff]).toString('base64')}`),
    ],
  ])('refuses %s with a challenge', async (_name, send) => {
    const response = await send();
    expect([response.status, response.body.error]).toEqual([401, 'invalid_client']);
    expect(response.headers['www-authenticate']).toBe('Basic realm="oidc", charset="UTF-8"');
  });

  it('refuses two credentials', async () => {
    const both = await attempt({ client_secret: client.client_secret ?? '' }, basic(client));
    expect([both.status, both.body.error]).toEqual([400, 'invalid_request']);
  });

  describe('by private_key_jwt', () => {
    const { publicKey, privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    let signer: CreatedClient;
    beforeAll(async () => {
      const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'one' };
      signer = await createClient(app, { jwks: { keys: [jwk] } });
    });
    const assertion = (claims: Record<string, unknown> = {}, key = privateKey, protectedHeader = {}) =>
      new SignJWT({
        iss: signer.client_id,
        sub: signer.client_id,
        aud: oidcIssuer,
        jti: randomUUID(),
        ...claims,
      })
        .setProtectedHeader({ alg: 'ES256', kid: 'one', ...protectedHeader })
        .setExpirationTime(typeof claims.exp === 'number' ? claims.exp : '1 min')
        .sign(key);
    const present = (text: string, fields = {}) =>
      attempt({
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: text,
        ...fields,
      });

    it('accepts an assertion once', async () => {
      const text = await assertion();
      expect(await accepted(present(text))).toBe(true);
      expect((await present(text)).body.error).toBe('invalid_client');
    });

    const anIdToken = async () => {
      const { identity, password } = await createIdentity(app);
      const code = await signInFor(app, client, { email: identity.email, password });
      return (await exchange(app, client, code).expect(200)).body.id_token;
    };
    const stranger = generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey;
    const seconds = () => Math.floor(Date.now() / 1000);
    it.each<[string, () => Promise<string>, object?]>([
      ['another audience', () => assertion({ aud: issuer })],
      ['the token endpoint as the audience', () => assertion({ aud: `${oidcIssuer}/token` })],
      ['several audiences', () => assertion({ aud: [oidcIssuer, issuer] })],
      ['another subject', () => assertion({ sub: client.client_id })],
      ['no jti', () => assertion({ jti: undefined })],
      ['an expired one', () => assertion({ exp: seconds() - 60 })],
      ['one that is valid for long', () => assertion({ exp: seconds() + 3600 })],
      ['one of the future', () => assertion({ nbf: seconds() + 60 })],
      ['another key', () => assertion({}, stranger)],
      ['an unknown key id', () => assertion({}, privateKey, { kid: 'two' })],
      ['no signature', async () => `${(await assertion()).split('.').slice(0, 2).join('.')}.`],
      ['another type', () => assertion(), { client_assertion_type: 'x' }],
      ['a token of the service', anIdToken],
      ['no JWT', async () => 'x.y.z'],
    ])('refuses %s', async (_name, make, fields = {}) => {
      const response = await present(await make(), fields);
      expect([response.status, response.body.error]).toEqual([401, 'invalid_client']);
    });
  });
});
