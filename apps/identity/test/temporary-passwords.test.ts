import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { tokenResponseSchema } from '@tessera/contracts';
import { expectInvalidFields, expectOAuthProblem } from '@tessera/testing/problems';
import { decodeJwt } from 'jose';
import { aPassword, createIdentity, updateIdentity } from './support/identities.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

describe('POST /token with a temporary password', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  const attempt = (body: object) => app.http.post('/token').send(body);
  const aTemporaryOne = async () => {
    const created = await createIdentity(app, { password_is_temporary: true });
    const grant = { grant_type: 'password', email: created.identity.email, password: created.password };
    return { ...created, grant };
  };
  const expire = (id: string) =>
    app.sql("UPDATE identities SET password_expires_at = now() - interval '1 second' WHERE id = $1", [id]);

  it('asks for another one, and issues no tokens', async () => {
    const { grant, identity } = await aTemporaryOne();
    const response = await attempt(grant);
    expectOAuthProblem(response, 401, 'invalid_grant');
    const { body } = response;
    expect(body).toMatchObject({ code: 'password_change_required', error: 'invalid_grant' });
    expect(await app.sql('SELECT id FROM token_families WHERE identity_id = $1', [identity.id])).toEqual([]);
    // It tells nothing without the right password.
    const wrong = await attempt({ ...grant, password: aPassword(), new_password: aPassword() }).expect(401);
    expect(wrong.body).toMatchObject({ code: 'invalid_grant', detail: 'Invalid email or password.' });
  });

  it('replaces it and signs in, once', async () => {
    const { grant, identity } = await aTemporaryOne();
    const [next, other] = [aPassword(), aPassword()];
    const { body } = await attempt({ ...grant, new_password: next }).expect(200);
    expect(decodeJwt(tokenResponseSchema.parse(body).access_token).sub).toBe(identity.id);
    const again = await attempt({ ...grant, new_password: other }).expect(401);
    expect(again.body.code).toBe('invalid_grant');
    // Now the password is the person's own.
    await attempt({ ...grant, password: next, new_password: other }).expect(200);
    await attempt({ ...grant, password: next }).expect(200);
  });

  it('lets one of parallel sign-ins replace it', async () => {
    const { grant } = await aTemporaryOne();
    const passwords = [aPassword(), aPassword(), aPassword()];
    const responses = await Promise.all(passwords.map((next) => attempt({ ...grant, new_password: next })));
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 401, 401]);
  });

  it('refuses a new one that is the same, too short or easy to guess', async () => {
    const { grant } = await aTemporaryOne();
    for (const next of [grant.password, 'short', grant.email])
      await attempt({ ...grant, new_password: next })
        .expect(422)
        .expect((response) => expectInvalidFields(response, ['new_password']));
    await attempt({ ...grant, new_password: aPassword() }).expect(200);
  });

  it('is refused after 24 hours, with the way to a new one', async () => {
    const { grant, identity } = await aTemporaryOne();
    const [row] = await app.sql<{ hours: number }>(
      `SELECT round(extract(epoch FROM password_expires_at - now()) / 3600)::int AS hours
         FROM identities WHERE id = $1`,
      [identity.id],
    );
    expect(row?.hours).toBe(24);
    await expire(identity.id);
    for (const body of [grant, { ...grant, new_password: aPassword() }]) {
      const response = await attempt(body);
      expectOAuthProblem(response, 401, 'invalid_grant');
      expect(response.body.code).toBe('password_expired');
      expect(response.body.detail).toContain('reset-password');
    }
    const change = { current_password: grant.password, new_password: aPassword() };
    await app.http
      .post(`/internal/identities/${identity.id}/password`)
      .set('X-Service-Token', serviceToken)
      .send(change)
      .expect(422);
    // A trusted backend sets a new one, temporary or not.
    const [temporary, own] = [aPassword(), aPassword()];
    await updateIdentity(app, identity.id, { password: temporary, password_is_temporary: true });
    const asked = await attempt({ ...grant, password: temporary }).expect(401);
    expect(asked.body.code).toBe('password_change_required');
    await updateIdentity(app, identity.id, { password: own });
    await attempt({ ...grant, password: own }).expect(200);
  });

  it('does not become the own one by an update without a password', async () => {
    const { grant, identity } = await aTemporaryOne();
    await updateIdentity(app, identity.id, { display_name: 'Ann', password_is_temporary: false });
    expect((await attempt(grant).expect(401)).body.code).toBe('password_change_required');
  });
});
