import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { Browser } from './support/browser.ts';
import { IdentityService } from './support/identity-service.ts';
import { type IssuesService, startIssuesService } from './support/issues-service.ts';
import { anEmail, password } from './support/people.ts';
import { createTestDatabase } from './support/test-database.ts';
import './support/response-guard.ts';

const rounds = Number(process.env.SESSION_ROUNDS ?? 4);
const replicas = 3;
const requestsPerReplica = 30;
const me = '/app/api/v1/users/me/';

describe('one session on three processes, with the real identity service', () => {
  let identity: IdentityService;
  let services: IssuesService[];
  let issuesDatabase: pg.Pool;
  let identityDatabase: pg.Pool;
  beforeAll(async () => {
    identity = await IdentityService.start({
      TRUST_PROXY: 'loopback',
      SIGN_IN_PAIR_LIMIT: '3',
      SIGN_IN_IP_LIMIT: '5',
      RATE_LIMIT_TOKENS_PER_MINUTE: '0',
    });
    const databaseUrl = await createTestDatabase();
    const environment = {
      WEB_APP: 'on',
      SESSION_KEYS: randomBytes(32).toString('base64'),
      TRUST_PROXY: 'loopback',
    };
    services = await Promise.all(
      Array.from({ length: replicas }, () => startIssuesService({ databaseUrl, identity }, environment)),
    );
    issuesDatabase = new pg.Pool({ connectionString: databaseUrl, max: 1 });
    identityDatabase = new pg.Pool({ connectionString: identity.databaseUrl, max: 1 });
  });
  afterAll(async () => {
    await Promise.all([issuesDatabase.end(), identityDatabase.end()]);
    await Promise.all(services.map((service) => service.stop()));
    await identity.stop();
  });

  const first = () => {
    const [service] = services;
    if (service === undefined) throw new Error('no service was started');
    return service;
  };
  const rotations = async () => {
    const { rows } = await identityDatabase.query(
      `SELECT count(*) FILTER (WHERE type = 'refresh.rotated')::int AS rotated,
         count(*) FILTER (WHERE type LIKE 'refresh.re%' AND type <> 'refresh.rotated')::int AS refused FROM audit_events`,
    );
    return rows[0];
  };
  /** Lets the access tokens of all sessions expire, or become due for a refresh. */
  const moveClock = (expires: boolean) =>
    issuesDatabase.query(
      `UPDATE web_sessions SET refresh_at = now(), access_expires_at = CASE WHEN $1 THEN now() ELSE access_expires_at END`,
      [expires],
    );

  it(
    'refreshes once a round, and every request is answered',
    async () => {
      const { email } = await identity.create({ email: anEmail(), password });
      const browser = new Browser(first().http);
      await browser.signIn(email, password).expect(200);
      const before = await rotations();
      const statuses: number[] = [];
      for (let round = 0; round < rounds; round += 1) {
        await moveClock(round % 4 !== 3);
        const requests = services.flatMap((service) =>
          Array.from({ length: requestsPerReplica }, () => browser.on(service).get(me)),
        );
        statuses.push(...(await Promise.all(requests)).map(({ status }) => status));
        // The refresh of a round without waiting requests ends after them.
        for (;;) {
          const { rows } = await issuesDatabase.query('SELECT generation FROM web_sessions');
          if (rows[0].generation === round + 2) break;
        }
      }
      expect(statuses).toEqual(Array(rounds * replicas * requestsPerReplica).fill(200));
      expect(await rotations()).toEqual({ rotated: before.rotated + rounds, refused: before.refused });
    },
    300_000 + rounds * 3_000,
  );

  it("counts failed sign-ins by the browser's address, not by that of the service", async () => {
    const { email } = await identity.create({ email: anEmail(), password });
    const attacker = new Browser(first().http, { 'X-Forwarded-For': '203.0.113.9' });
    const owner = new Browser(first().http, { 'X-Forwarded-For': '198.51.100.7', 'User-Agent': 'Owner/1.0' });
    for (let attempt = 0; attempt < 3; attempt += 1) await attacker.signIn(email, 'wrong').expect(401);
    const refused = await attacker.signIn(email, password).expect(429);
    expect(refused.body.code).toBe('too_many_requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await owner.signIn(email, password).expect(200);
    const { sessions } = (await owner.get('/app/sessions').expect(200)).body;
    expect(sessions).toEqual([
      expect.objectContaining({ created_ip: '198.51.100.7', user_agent: 'Owner/1.0', is_current: true }),
    ]);
  });

  it('takes over the refresh of a process that was killed before it asked identity', async () => {
    const { email } = await identity.create({ email: anEmail(), password });
    const browser = new Browser(first().http);
    await browser.signIn(email, password).expect(200);
    await moveClock(true);
    await issuesDatabase.query(`UPDATE web_sessions SET refreshing_until = now() + interval '1 second'`);
    const responses = await Promise.all(services.map((service) => browser.on(service).get(me)));
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200]);
  });
});
