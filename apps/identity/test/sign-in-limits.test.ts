import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { expectOAuthProblem } from '@tessera/testing/problems';
import { SignInLimits } from '../src/sign-in/sign-in-limits.ts';
import { anEmail, aPassword, createIdentity } from './support/identities.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the limits of POST /token', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp({
      SIGN_IN_PAIR_LIMIT: '3',
      SIGN_IN_EMAIL_LIMIT: '5',
      SIGN_IN_IP_LIMIT: '8',
      TRUST_PROXY: '1',
    });
  });
  beforeEach(() => app.sql('DELETE FROM sign_in_counters'));
  afterAll(() => app.close());

  const attempt = (email: string, password: string, ip: string) =>
    app.http.post('/token').set('X-Forwarded-For', ip).send({ grant_type: 'password', email, password });

  const fail = async (email: string, ip: string, times: number) => {
    for (let count = 0; count < times; count += 1) await attempt(email, aPassword(), ip).expect(401);
  };

  it('returns 429 with Retry-After after too many failures of a known or unknown e-mail from one address', async () => {
    const { identity, password } = await createIdentity(app);
    for (const email of [identity.email, anEmail()]) {
      await fail(email, '203.0.113.1', 3);
      const response = await attempt(email, password, '203.0.113.1');
      expectOAuthProblem(response, 429, 'too_many_requests');
      const retryAfter = Number(response.headers['retry-after']);
      expect(retryAfter).toBeGreaterThan(890);
      expect(retryAfter).toBeLessThanOrEqual(900);
      expect(response.body.error_description).toBe(
        `Too many failed sign-ins. Try again in ${retryAfter} seconds.`,
      );
    }
    await attempt(identity.email, password, '203.0.113.2').expect(200);
  });

  it('stores nothing for attempts beyond a limit', async () => {
    const email = anEmail();
    await fail(email, '203.0.113.6', 3);
    const stored = () =>
      app.sql(
        `SELECT (SELECT count(*)::int FROM audit_events) AS events, (SELECT sum(count)::int FROM sign_in_counters) AS failures`,
      );
    const before = await stored();
    for (let count = 0; count < 5; count += 1) await attempt(email, aPassword(), '203.0.113.6').expect(429);
    expect(await stored()).toEqual(before);
  });

  it('does not lock a user out of an address with an earlier sign-in', async () => {
    const { identity, password } = await createIdentity(app);
    await attempt(identity.email, password, '203.0.113.9').expect(200);
    await fail(identity.email, '203.0.113.3', 3);
    await fail(identity.email, '203.0.113.4', 2);
    await attempt(identity.email, password, '203.0.113.5').expect(429);
    await attempt(identity.email, password, '203.0.113.9').expect(200);
  });

  it('limits an address across all e-mails, an IPv6 address by its /64', async () => {
    for (let count = 0; count < 8; count += 1) await fail(anEmail(), `2001:db8::${count + 1}`, 1);
    await attempt(anEmail(), aPassword(), '2001:db8:0:0:ffff::1').expect(429);
    await attempt(anEmail(), aPassword(), '2001:db8:0:1::1').expect(401);
  });

  it('counts an address with a port or brackets as that address', async () => {
    for (const entries of [
      ['203.0.113.9:40001', '203.0.113.9:40002', '203.0.113.9'],
      ['[2001:db8:9::1]:40001', '[2001:db8:9::1]', '2001:db8:9::1'],
    ]) {
      const email = anEmail();
      for (const entry of entries) await fail(email, entry, 1);
      await attempt(email, aPassword(), entries[0]?.replace('40001', '40003') ?? '').expect(429);
    }
  });

  it('counts entries that are not addresses as the address of the connection', async () => {
    const email = anEmail();
    for (const entry of ['one', 'unknown:2', '203.0.113.300']) await fail(email, entry, 1);
    await attempt(email, aPassword(), '_hidden').expect(429);
  });

  it('resets failures after a success and does not count successes', async () => {
    const { identity, password } = await createIdentity(app);
    for (let round = 0; round < 3; round += 1) {
      await fail(identity.email, '203.0.113.1', 2);
      await attempt(identity.email, password, '203.0.113.1').expect(200);
    }
  });

  it('resets the counts when the window ends', async () => {
    const email = anEmail();
    await fail(email, '203.0.113.1', 3);
    await attempt(email, aPassword(), '203.0.113.1').expect(429);
    await app.sql(`UPDATE sign_in_counters SET window_ends = now() - interval '1 second'`);
    await fail(email, '203.0.113.1', 3);
    await attempt(email, aPassword(), '203.0.113.1').expect(429);
  });

  it('compares at most the limit plus the number of hash threads for concurrent guesses', async () => {
    const { identity } = await createIdentity(app);
    const answers = await Promise.all(
      Array.from({ length: 30 }, () => attempt(identity.email, aPassword(), '203.0.113.1')),
    );
    const statuses = answers.map((answer) => answer.status);
    const compared = statuses.filter((status) => status === 401).length;
    expect(compared).toBeGreaterThanOrEqual(3);
    expect(compared).toBeLessThanOrEqual(3 + app.config.passwords.hashConcurrency);
    expect(statuses.filter((status) => status === 429)).toHaveLength(30 - compared);
  });

  it('stores neither e-mail nor address', async () => {
    const email = anEmail();
    await fail(email, '203.0.113.77', 1);
    const rows = JSON.stringify(await app.sql('SELECT * FROM sign_in_counters'));
    expect(rows).not.toContain(email);
    expect(rows).not.toContain('203.0.113');
  });

  it('can be disabled', async () => {
    const open = await startTestApp({ SIGN_IN_LIMITS: 'off', SIGN_IN_PAIR_LIMIT: '1' }, app.databaseUrl);
    const body = { grant_type: 'password', email: anEmail(), password: aPassword() };
    for (let count = 0; count < 3; count += 1) await open.http.post('/token').send(body).expect(401);
    await open.close();
  });

  it("reads the client's address from a header only with a trusted proxy", async () => {
    const direct = await startTestApp({ SIGN_IN_PAIR_LIMIT: '2' }, app.databaseUrl);
    const email = anEmail();
    const from = (ip: string) =>
      direct.http
        .post('/token')
        .set('X-Forwarded-For', ip)
        .send({ grant_type: 'password', email, password: aPassword() });
    await from('203.0.113.1').expect(401);
    await from('203.0.113.2').expect(401);
    await from('203.0.113.3').expect(429);
    await direct.close();
  });
});

describe('SignInLimits', () => {
  const limits = (secret: string) =>
    new SignInLimits({ enabled: true, pairLimit: 1, emailLimit: 1, ipLimit: 1, windowSeconds: 60, secret });

  it('derives equal keys from equal secrets only', () => {
    expect(limits('a').keysFor('x@example.com', '::1')).toEqual(limits('a').keysFor('x@example.com', '::1'));
    expect(limits('a').keysFor('x@example.com', '::1').pair).not.toBe(
      limits('b').keysFor('x@example.com', '::1').pair,
    );
  });

  it('treats an IPv4-mapped IPv6 address as IPv4', () => {
    expect(limits('a').keysFor('x', '::ffff:203.0.113.1')).toEqual(limits('a').keysFor('x', '203.0.113.1'));
  });
});
