import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { TokenResponse } from '@tessera/contracts';
import { CleanupJob } from '@tessera/service-kit';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { cleanupTasks } from '../src/cleanup/cleanup-tasks.ts';
import { createIdentity, signedIn, signIn } from './support/identities.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the cleanup job', () => {
  let app: TestApp;
  let identityId: string;
  beforeAll(async () => {
    app = await startTestApp();
    identityId = (await createIdentity(app)).identity.id;
  });
  afterAll(() => app.close());
  beforeEach(() => app.sql('TRUNCATE refresh_tokens, token_families, sign_in_counters'));

  const aCleanup = (
    {
      auditRetentionDays = 400,
      hostedSignIn = false,
      ...options
    }: {
      auditRetentionDays?: number;
      hostedSignIn?: boolean;
      intervalSeconds?: number;
      batchSize?: number;
      budgetMs?: number;
    } = {},
    of = app,
  ) =>
    new CleanupJob({
      tasks: cleanupTasks(new CleanupRepository(of.dependencies.database), {
        auditRetentionDays,
        eventRetentionDays: 7,
        hostedSignIn,
      }),
      logger: of.dependencies.logger,
      intervalSeconds: 0,
      ...options,
    });

  /** Inserts families that ended some days ago, each with tokens that ended at the same time. */
  const addFamilies = (
    count: number,
    { endedDaysAgo, tokens = 2 }: { endedDaysAgo: number; tokens?: number },
  ) =>
    app.sql(
      `WITH family AS (
         INSERT INTO token_families (id, identity_id, session_epoch, expires_at)
         SELECT gen_random_uuid(), $1, 0, now() - $3 * interval '1 day' FROM generate_series(1, $2::int)
         RETURNING id, expires_at
       )
       INSERT INTO refresh_tokens (jti, family_id, generation, expires_at, revoked_at)
       SELECT gen_random_uuid(), id, generation, expires_at, now() FROM family, generate_series(1, $4::int) AS generation`,
      [identityId, count, endedDaysAgo, tokens],
    );

  const addCounters = (count: number, name: string, endsInSeconds: number) =>
    app.sql(
      `INSERT INTO sign_in_counters SELECT $2 || n, 1, now() + $3 * interval '1 second' FROM generate_series(1, $1::int) n`,
      [count, name, endsInSeconds],
    );

  const addEvents = (count: number, daysAgo: number) =>
    app.sql(
      `INSERT INTO audit_events (type, outcome, actor, at)
       SELECT 'token.issued', 'success', 'user', now() - $2 * interval '1 day' FROM generate_series(1, $1::int)`,
      [count, daysAgo],
    );

  const count = async (from: string): Promise<number> => {
    const [row] = await app.sql<{ count: number }>(`SELECT count(*)::int AS count FROM ${from}`);
    return row?.count ?? -1;
  };
  const oldEvents = `audit_events WHERE at < now() - interval '399 days'`;

  it('deletes only rows that ended more than a week ago', async () => {
    await addFamilies(3, { endedDaysAgo: 7.01 });
    await addFamilies(5, { endedDaysAgo: 6.99 });
    await addCounters(4, 'over', -1);
    await addCounters(6, 'counting', 60);
    await addEvents(2, 400.1);
    await addEvents(1, 399.9);
    expect(await aCleanup().run()).toEqual({
      refresh_tokens: 6,
      token_families: 3,
      sign_in_counters: 4,
      audit_events: 2,
      events: 0,
    });
    expect(await count('refresh_tokens')).toBe(10);
    expect(await count('token_families')).toBe(5);
    expect(await count('sign_in_counters')).toBe(6);
    expect(await count(oldEvents)).toBe(1);
    expect(Object.values(await aCleanup().run())).toEqual([0, 0, 0, 0, 0]);
  });

  it('deletes the rows of the sign-in for applications only if it is on', async () => {
    await app.sql(
      `INSERT INTO sso_sessions (id, token_hash, identity_id, session_epoch, amr, acr, idle_expires_at, expires_at)
       SELECT gen_random_uuid(), sha256(days::text::bytea), $1, 0, '{pwd}', 'aal1', now(), now() - days * interval '1 day'
         FROM unnest(ARRAY[6.99, 7.01, 8]) days`,
      [identityId],
    );
    await app.sql(
      `INSERT INTO authorization_codes (code_hash, client_id, identity_id, session_epoch, sso_session_id, redirect_uri, scope,
                                        auth_time, amr, acr, expires_at)
       SELECT sha256(days::text::bytea), $1, $1, 0, $1, '', '{openid}', now(), '{pwd}', 'aal1', now() - days * interval '1 day'
         FROM unnest(ARRAY[0.99, 1.01, 2, 3]) days`,
      [identityId],
    );
    await app.sql(
      `INSERT INTO client_assertions SELECT $1, sha256(n::text::bytea), now() - n * interval '1 second'
         FROM unnest(ARRAY[-60, 1, 2, 3, 4]) n`,
      [identityId],
    );
    expect(Object.keys(await aCleanup().run())).not.toContain('sso_sessions');
    expect(await aCleanup({ hostedSignIn: true, batchSize: 2 }).run()).toMatchObject({
      sso_sessions: 2,
      authorization_codes: 3,
      client_assertions: 4,
    });
    expect(await count('sso_sessions')).toBe(1);
    expect(await count('authorization_codes')).toBe(1);
    expect(await count('client_assertions')).toBe(1);
  });

  it('keeps the used tokens of a live session, so that their reuse is detected', async () => {
    const { tokens } = await signedIn(app);
    const { body } = await app.http.post('/token/refresh').send({ refresh_token: tokens.refresh_token });
    await app.sql(
      `UPDATE refresh_tokens SET revoked_at = revoked_at - interval '10 days' WHERE replaced_by IS NOT NULL`,
    );
    await aCleanup().run();
    await app.http.post('/token/refresh').send({ refresh_token: tokens.refresh_token }).expect(401);
    await app.http.post('/token/refresh').send({ refresh_token: body.refresh_token }).expect(401);
    expect(await count(`token_families WHERE revoke_reason = 'reuse_detected'`)).toBe(1);
  });

  it('keeps a family that still has tokens', async () => {
    await addFamilies(1, { endedDaysAgo: 30 });
    await app.sql('UPDATE refresh_tokens SET expires_at = now()');
    expect(await aCleanup().run()).toMatchObject({ refresh_tokens: 0, token_families: 0 });
  });

  it('deletes every expired row once, and no active row, when two jobs run during active sessions', async () => {
    const other = await startTestApp({}, app.databaseUrl);
    await addFamilies(150, { endedDaysAgo: 10, tokens: 3 });
    await addCounters(130, 'old', -60);
    await addEvents(170, 500);
    const old = await count(`audit_events WHERE at < now() - interval '400 days'`);
    const live = await Promise.all(Array.from({ length: 6 }, () => signedIn(app)));
    const options = { batchSize: 20 };
    const cleanups = [aCleanup(options), aCleanup(options, other)];
    const [sweeps, newest] = await Promise.all([
      Promise.all(cleanups.map((cleanup) => cleanup.run())),
      Promise.all(live.map(({ tokens }) => rotateAgainAndAgain(tokens))),
    ]);
    const total = (table: keyof (typeof sweeps)[number]) =>
      sweeps.reduce((sum, swept) => sum + swept[table], 0);
    expect([
      total('refresh_tokens'),
      total('token_families'),
      total('sign_in_counters'),
      total('audit_events'),
    ]).toEqual([450, 150, 130, old]);
    for (const tokens of newest) await rotate(tokens);
    expect(await count('token_families')).toBe(6);
    expect(await count('refresh_tokens')).toBe(6 * 7);
    await other.close();
  });

  const rotate = async (tokens: TokenResponse): Promise<TokenResponse> =>
    (await app.http.post('/token/refresh').send({ refresh_token: tokens.refresh_token }).expect(200)).body;

  async function rotateAgainAndAgain(tokens: TokenResponse): Promise<TokenResponse> {
    let newest = tokens;
    for (let times = 0; times < 5; times += 1) newest = await rotate(newest);
    return newest;
  }

  it('does nothing while another replica holds the lock', async () => {
    await addCounters(1, 'over', -1);
    await app.dependencies.database.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT pg_advisory_xact_lock(7355608002)::text`;
      expect(Object.values(await aCleanup().run())).toEqual([0, 0, 0, 0, 0]);
    });
    expect(await aCleanup().run()).toMatchObject({ sign_in_counters: 1 });
  });

  it('skips a row that a request has locked and deletes it in the next run', async () => {
    await addCounters(2, 'over', -1);
    await app.dependencies.database.$transaction(async (transaction) => {
      await transaction.$queryRaw`SELECT FROM sign_in_counters WHERE key = 'over1' FOR UPDATE`;
      expect(await aCleanup().run()).toMatchObject({ sign_in_counters: 1 });
    });
    expect(await aCleanup().run()).toMatchObject({ sign_in_counters: 1 });
  });

  it('keeps audit events forever with a retention of 0', async () => {
    await addEvents(1, 4000);
    expect(await aCleanup({ auditRetentionDays: 0 }).run()).toMatchObject({ audit_events: 0 });
    expect(await count(oldEvents)).toBeGreaterThan(0);
  });

  it('finishes the current batch when stopped, and starts no batch after its time limit', async () => {
    await addCounters(50, 'over', -1);
    const stopped = aCleanup({ batchSize: 1 });
    const run = stopped.run();
    await stopped.stop();
    await run;
    expect(await count('sign_in_counters')).toBe(50);
    expect(await aCleanup({ budgetMs: 0 }).run()).toMatchObject({ sign_in_counters: 0 });
    expect(await aCleanup({ batchSize: 1 }).run()).toMatchObject({ sign_in_counters: 50 });
  });

  it('runs at its interval in the service and stops with it', async () => {
    await addCounters(1, 'over', -1);
    const service = await startTestApp({ JANITOR_INTERVAL_SECONDS: '1' }, app.databaseUrl);
    while ((await count('sign_in_counters')) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await service.close();
    expect(service.log.lines.join('')).toContain('"sign_in_counters":1');
    await addCounters(1, 'over', -1);
    await new Promise((resolve) => setTimeout(resolve, 1_500));
    expect(await count('sign_in_counters')).toBe(1);
  });

  it('continues after a failed run and logs the failure', async () => {
    const service = await startTestApp({ JANITOR_INTERVAL_SECONDS: '1' }, app.databaseUrl);
    await app.sql('ALTER TABLE sign_in_counters RENAME TO elsewhere');
    const failed = () => service.log.lines.join('').includes('cleanup failed');
    while (!failed()) await new Promise((resolve) => setTimeout(resolve, 20));
    await app.sql('ALTER TABLE elsewhere RENAME TO sign_in_counters');
    await addCounters(1, 'over', -1);
    while ((await count('sign_in_counters')) > 0) await new Promise((resolve) => setTimeout(resolve, 20));
    await service.close();
  });

  it('does not block a sign-in whose counter it deletes', async () => {
    const { identity, password } = await createIdentity(app);
    await app.http
      .post('/token')
      .send({ grant_type: 'password', email: identity.email, password: 'wrong one' });
    await app.sql(`UPDATE sign_in_counters SET window_ends = now() - interval '1 second'`);
    expect((await aCleanup().run()).sign_in_counters).toBe(3);
    await signIn(app, identity.email, password);
  });
});
