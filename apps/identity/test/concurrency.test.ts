import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TokenResponse } from '@tessera/contracts';
import pg from 'pg';
import { anEmail, aPassword, signedIn, signIn, updateIdentity } from './support/identities.ts';
import { type ServiceProcess, startService } from './support/service-process.ts';
import { createTestDatabase, serviceToken } from './support/test-app.ts';

const rounds = Number(process.env.ROTATION_ROUNDS ?? 8);

// The database enforces uniqueness: two processes of the service share it.
describe('two processes on one database', () => {
  let services: [ServiceProcess, ServiceProcess];
  let database: pg.Pool;
  beforeAll(async () => {
    const url = await createTestDatabase();
    const unlimited = { RATE_LIMIT_TOKENS_PER_MINUTE: '0' };
    services = await Promise.all([startService(url, unlimited), startService(url, unlimited)]);
    database = new pg.Pool({ connectionString: url, max: 1 });
  });
  afterAll(async () => {
    await database.end();
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0]);
  });

  /** Sends `count` concurrent requests alternately to the two processes. */
  const inParallel = <Result>(count: number, send: (service: ServiceProcess) => PromiseLike<Result>) =>
    Promise.all(Array.from({ length: count }, (_, index) => send(services[index % 2 === 0 ? 0 : 1])));

  it(`rotates a refresh token for exactly one of 20 concurrent callers, whose session stays usable, in ${rounds} rounds`, async () => {
    let { refresh_token: token } = (await signedIn(services[0])).tokens;
    for (let round = 0; round < rounds; round += 1) {
      const answers = await inParallel(20, ({ http }) =>
        http.post('/token/refresh').send({ refresh_token: token }),
      );
      const statuses = answers.map((answer) => answer.status).sort();
      expect(statuses).toEqual([200, ...Array<number>(19).fill(401)]);
      token = answers.find((answer) => answer.status === 200)?.body.refresh_token;
    }
    const [row] = (
      await database.query('SELECT count(*)::int AS live FROM refresh_tokens WHERE revoked_at IS NULL')
    ).rows;
    expect(row.live).toBe(1);
    await services[1].http.post('/token/refresh').send({ refresh_token: token }).expect(200);
  });

  it.each([
    { session: 'active', reasons: ['reuse_detected'] },
    { session: 'ended', reasons: ['revoked'] },
    { session: 'of a deactivated user', reasons: ['identity_gone'] },
  ])(
    'records one of 40 concurrent uses of a refused token of a session that is $session',
    async ({ session, reasons }) => {
      const { identity, tokens } = await signedIn(services[0]);
      const token = tokens.refresh_token;
      const { http } = services[0];
      const { body } = await http.post('/token/refresh').send({ refresh_token: token }).expect(200);
      if (session === 'active') await http.post('/token/refresh').send(body).expect(200);
      if (session === 'ended') await http.post('/token/revoke').send({ token }).expect(200);
      if (session === 'of a deactivated user')
        await updateIdentity(services[0], identity.id, { is_active: false });
      for (let round = 0; round < 2; round += 1) {
        const answers = await inParallel(40, (service) =>
          service.http.post('/token/refresh').send({ refresh_token: token }),
        );
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([401]));
      }
      const { rows } = await database.query(
        `SELECT details ->> 'reason' AS reason FROM audit_events
        WHERE identity_id = $1 AND type LIKE 'refresh.re%' AND outcome = 'failure'`,
        [identity.id],
      );
      expect(rows.map(({ reason }) => reason)).toEqual(reasons);
    },
  );

  it('creates one identity for 50 concurrent requests with the same e-mail', async () => {
    const body = { email: anEmail(), password: aPassword() };
    const answers = await inParallel(50, ({ http }) =>
      http.post('/internal/identities').set('X-Service-Token', serviceToken).send(body),
    );
    const statuses = answers.map((answer) => answer.status).sort();
    expect(statuses).toEqual([201, ...Array<number>(49).fill(409)]);
    const { rows } = await database.query('SELECT id FROM identities WHERE email_canonical = $1', [
      body.email,
    ]);
    expect(rows).toEqual([{ id: answers.find((answer) => answer.status === 201)?.body.id }]);
  });

  it('derives a different username for each of 40 concurrent requests, and keeps a username that is set', async () => {
    const names = ['bob', 'BOB', 'bob-2', 'bob'];
    const answers = await inParallel(40, ({ http }) =>
      http
        .post('/internal/identities')
        .set('X-Service-Token', serviceToken)
        .send({ email: `${names.pop() ?? 'bob'}@${anEmail().split('@')[0]}.example`, password: aPassword() }),
    );
    expect(answers.filter(({ status }) => status !== 201).map(({ body }) => body)).toEqual([]);
    const usernames = answers.map(({ body }) => String(body.username).toLowerCase());
    expect(new Set(usernames).size).toBe(40);
    expect(usernames.filter((name) => !/^bob(-\d+){0,2}$/.test(name))).toEqual([]);
    const { http } = services[0];
    const given = await http
      .post('/internal/identities')
      .set('X-Service-Token', serviceToken)
      .send({ email: anEmail(), password: aPassword(), username: 'bob' });
    expect([given.status, given.body.username]).toEqual([201, 'bob']);
  });

  it('creates one identity for 20 concurrent requests with the same SSO pair', async () => {
    const sso = { sso_provider: 'google', sso_id: anEmail() };
    const answers = await inParallel(20, ({ http }) =>
      http
        .post('/internal/identities')
        .set('X-Service-Token', serviceToken)
        .send({ email: anEmail(), ...sso }),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([201, ...Array<number>(19).fill(409)]);
  });

  it('deletes an identity for one of the concurrent requests', async () => {
    const { identity } = await signedIn(services[0]);
    const answers = await inParallel(10, ({ http }) =>
      http.delete(`/internal/identities/${identity.id}`).set('X-Service-Token', serviceToken),
    );
    expect(answers.map((answer) => answer.status).sort()).toEqual([204, ...Array<number>(9).fill(404)]);
  });

  it('ends the tokens of a refresh and a sign-in that overlap the revocation of all sessions', async () => {
    const [revoking, issuing] = services;
    const { identity, password, tokens } = await signedIn(issuing);
    const holder = await database.connect();
    await holder.query('BEGIN');
    await holder.query('SELECT FROM identities WHERE id = $1 FOR NO KEY UPDATE', [identity.id]);
    const revoked = revoking.http
      .delete(`/internal/identities/${identity.id}/sessions`)
      .set('X-Service-Token', serviceToken)
      .then(({ status }) => status);
    const waiting =
      'SELECT FROM pg_locks WHERE NOT granted AND pg_backend_pid() = ANY(pg_blocking_pids(pid))';
    while ((await holder.query(waiting)).rowCount === 0)
      await new Promise((resolve) => setTimeout(resolve, 10));
    // The revocation has its time, but is not committed. The tokens are issued in a later second.
    await new Promise((resolve) => setTimeout(resolve, 1_000 - (Date.now() % 1_000)));
    const { body: refreshed } = await issuing.http.post('/token/refresh').send(tokens).expect(200);
    const overlapping = await signIn(issuing, identity.email, password);
    await holder.query('COMMIT');
    holder.release();
    expect(await revoked).toBe(204);

    const userInfo = async ({ http }: ServiceProcess, { access_token: token }: TokenResponse) =>
      (await http.get('/userinfo').auth(token, { type: 'bearer' })).status;
    for (const ended of [tokens, refreshed, overlapping]) {
      expect([await userInfo(revoking, ended), await userInfo(issuing, ended)]).toEqual([401, 401]);
      await issuing.http.post('/token/refresh').send(ended).expect(401);
    }
    const next = await signIn(issuing, identity.email, password);
    expect([await userInfo(revoking, next), await userInfo(issuing, next)]).toEqual([200, 200]);
  });

  it('leaves no live session when rotations overlap a password change', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { identity, tokens } = await signedIn(services[0]);
      const [refreshed] = await Promise.all([
        services[0].http.post('/token/refresh').send({ refresh_token: tokens.refresh_token }),
        services[1].http
          .put(`/internal/identities/${identity.id}`)
          .set('X-Service-Token', serviceToken)
          .send({ password: aPassword() })
          .expect(200),
      ]);
      expect([200, 401]).toContain(refreshed.status);
      const survivor = refreshed.body.refresh_token ?? tokens.refresh_token;
      await services[1].http.post('/token/refresh').send({ refresh_token: survivor }).expect(401);
    }
  });
});

describe('one process', () => {
  it('finishes accepted requests on SIGTERM and exits with 0', async () => {
    const service = await startService(await createTestDatabase(), { BCRYPT_COST: '12' });
    const requests = Array.from({ length: 4 }, () =>
      service.http
        .post('/token')
        .send({ grant_type: 'password', email: anEmail(), password: aPassword() })
        .then((answer) => answer.status),
    );
    // The hashes take long enough that the requests are pending when the signal arrives.
    await new Promise((resolve) => setTimeout(resolve, 150));
    const [code, ...statuses] = await Promise.all([service.stop(), ...requests]);
    expect(code).toBe(0);
    expect(statuses).toEqual([401, 401, 401, 401]);
  });

  it('exits with 78 and the names of the variables when its configuration is invalid', async () => {
    await expect(
      startService('mysql://x', { SERVICE_TOKEN: 'short', NODE_ENV: 'production' }),
    ).rejects.toThrow(/exited with 78: .*DATABASE_URL/s);
  });
});
