import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { createIdentity, signIn, updateIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('text with the syntax of the database', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const internal = internalClient(() => app);

  it.each([
    `'; DROP TABLE identities; --`,
    `' OR '1'='1`,
    `') RETURNING password_hash --`,
    String.raw`\'; SELECT pg_sleep(5); --`,
    '$1 $$ {id} %s :id ?',
    '%_*',
    'NULL',
  ])('is stored, found and returned unchanged: %s', async (text) => {
    const { identity, password } = await createIdentity(app, {
      username: text,
      password: `${text} and more`,
      sso_provider: text,
      sso_id: text,
    });
    const query = new URLSearchParams({ provider: text, sso_id: text });
    const found = await internal('get', `/internal/identities/by-sso/lookup?${query}`).expect(200);
    expect(found.body).toEqual(identity);
    const { access_token: token } = await signIn(app, identity.email, password);
    const userInfo = await app.http.get('/userinfo').set('Authorization', `Bearer ${token}`).expect(200);
    expect(userInfo.body.preferred_username).toBe(text);
    expect((await updateIdentity(app, identity.id, { username: `${text}${text}` })).username).toBe(
      text + text,
    );
  });

  it('finds no identity and changes nothing when it is sent as an e-mail', async () => {
    const { identity } = await createIdentity(app);
    for (const email of [
      `${identity.email}' --`,
      `' OR email_canonical LIKE '%`,
      '%',
      `_${identity.email.slice(1)}`,
    ]) {
      const path = `/internal/identities/by-email/${encodeURIComponent(email)}`;
      expectProblem(await internal('get', path), 404, 'identity_not_found');
      const grant = { grant_type: 'password', email, password: `' OR '1'='1` };
      await app.http.post('/token').send(grant).expect(401);
    }
    await internal('get', `/internal/identities/${identity.id}`).expect(200);
  });
});
