import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { aPassword, createIdentity, signedIn } from './support/identities.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the metrics of identity', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({ SIGN_IN_PAIR_LIMIT: '1', JWT_PRIVATE_KEY: undefined });
  });
  afterAll(() => app.close());

  const scrape = () => app.dependencies.metrics.registry.metrics();

  /** Returns the value of a series; the labels are written as in the scraped text. */
  const sample = async (series: string) => {
    const name = series.replace(/\}$/, `${series.includes('{}') ? '' : ','}service="identity"}`);
    const line = (await scrape()).split('\n').find((text) => text.startsWith(`${name} `));
    return line === undefined ? undefined : Number(line.slice(name.length + 1));
  };

  const signInWith = (email: string, password: string) =>
    app.http.post('/token').send({ grant_type: 'password', email, password });
  const refresh = (token: string) => app.http.post('/token/refresh').send({ refresh_token: token });

  it('count sign-ins by outcome', async () => {
    const { identity, password } = await createIdentity(app);
    await signInWith(identity.email, password).expect(200);
    await signInWith(identity.email, aPassword()).expect(401);
    await signInWith('nobody@example.com', aPassword()).expect(401);
    await signInWith('nobody@example.com', aPassword()).expect(429);
    expect(await sample('identity_sign_ins_total{outcome="success"}')).toBe(1);
    expect(await sample('identity_sign_ins_total{outcome="refused"}')).toBe(2);
    expect(await sample('identity_sign_ins_total{outcome="limited"}')).toBe(1);
  });

  it('count refreshes by outcome', async () => {
    const { tokens } = await signedIn(app);
    const { body } = await refresh(tokens.refresh_token).expect(200);
    await refresh(tokens.refresh_token).expect(401);
    await refresh(body.refresh_token).expect(200);
    await refresh(tokens.refresh_token).expect(401);
    await refresh('nonsense').expect(401);
    expect(await sample('identity_refreshes_total{outcome="rotated"}')).toBe(2);
    expect(await sample('identity_refreshes_total{outcome="reuse_in_leeway"}')).toBe(1);
    expect(await sample('identity_refreshes_total{outcome="reuse_detected"}')).toBe(1);
    expect(await sample('identity_refreshes_total{outcome="invalid"}')).toBe(1);
  });

  it('count the live sessions, at most once a minute', async () => {
    const other = await startTestApp({}, app.databaseUrl);
    await app.sql('UPDATE token_families SET revoked_at = now()');
    await signedIn(app);
    await signedIn(app);
    const ended = await signedIn(app);
    await app.http.post('/token/revoke').send({ token: ended.tokens.refresh_token }).expect(200);
    const active = async () =>
      /^identity_active_sessions\{service="identity"\} (\d+)$/m.exec(
        await other.dependencies.metrics.registry.metrics(),
      )?.[1];
    expect(await active()).toBe('2');
    await signedIn(app);
    expect(await active()).toBe('2');
    await other.close();
  });

  it('measure the hash queue', async () => {
    const before = (await sample('identity_hash_duration_seconds_count{}')) ?? 0;
    await createIdentity(app);
    expect(await sample('identity_hash_duration_seconds_count{}')).toBe(before + 1);
    expect(await sample('identity_hash_wait_seconds_count{}')).toBe(before + 1);
    expect(await sample('identity_hash_queue_depth{}')).toBe(0);
  });

  it('count what the cleanup job deleted', async () => {
    await app.sql(
      "INSERT INTO sign_in_counters SELECT 'old' || n, 1, now() - interval '1 hour' FROM generate_series(1, 3) n",
    );
    await app.dependencies.cleanup.run();
    expect(await sample('identity_janitor_deletions_total{table="sign_in_counters"}')).toBe(3);
  });

  it('report the age of the signing key', async () => {
    const age = await sample('identity_signing_key_age_seconds{kid="identity-key-1"}');
    expect(age).toBeGreaterThan(0);
    expect(age).toBeLessThan(600);
  });

  it('report the connection pool and label routes with their templates', async () => {
    await app.http.get('/jwks').expect(200);
    expect(await sample('db_pool_connections{pool="main",state="idle"}')).toBeGreaterThan(0);
    expect(await sample('db_pool_waiting{pool="main"}')).toBe(0);
    const text = await scrape();
    expect(text).toMatch(/http_request_duration_seconds_count\{.*method="GET",route="\/jwks",status="200"/);
    expect(text).toMatch(/http_request_duration_seconds_count\{.*method="POST",route="\/token",status="429"/);
  });

  it('are not served on the public port', async () => {
    await app.http.get('/metrics').expect(404);
  });

  it('contain no personal data', async () => {
    expect(await scrape()).not.toMatch(/example\.com/);
  });
});
