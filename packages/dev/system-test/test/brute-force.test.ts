import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { httpClient, patientLimits, type Stack, startStack } from '@tessera/stack';
import type { AxiosResponse } from 'axios';

const limit = 10;
const hashThreads = 2;
const replicas = 2;
const password = 'the right password';
const attacker = '203.0.113.7';
const home = '198.51.100.20';

// Two processes of identity with one database; a trusted proxy sets the client address.
describe('100 concurrent wrong guesses for one account, over two processes', () => {
  let stack: Stack;
  let guesses: AxiosResponse[];
  let logins: { victim: AxiosResponse[]; other: AxiosResponse[] };

  beforeAll(async () => {
    stack = await startStack({
      replicas: { identity: replicas, issues: 0 },
      environment: {
        identity: {
          ...patientLimits,
          TRUST_PROXY: 'loopback',
          SIGN_IN_PAIR_LIMIT: String(limit),
          HASH_CONCURRENCY: String(hashThreads),
          // A queue that is large enough; another test covers a full queue.
          HASH_QUEUE_MAX: '500',
          HASH_QUEUE_TIMEOUT_MS: '60000',
        },
      },
    });
    for (const name of ['victim', 'other']) {
      const created = await stack.internal.post('/internal/identities', {
        email: `${name}@example.com`,
        password,
      });
      expect(created.status).toBe(201);
    }
    // From now on, the victim has a known address.
    expect((await signIn('victim', password, home, 0)).status).toBe(200);
    const all = <Answer>(count: number, send: (index: number) => Promise<Answer>) =>
      Promise.all(Array.from({ length: count }, (_, index) => send(index)));
    const [wrong, victim, other] = await Promise.all([
      all(100, (index) => signIn('victim', `wrong guess ${index}`, attacker, index)),
      all(50, (index) => signIn('victim', password, home, index)),
      all(50, (index) => signIn('other', password, '192.0.2.33', index)),
    ]);
    guesses = wrong;
    logins = { victim, other };
  });
  afterAll(async () => {
    expect(await stack.stop()).toEqual([0, 0]);
  });

  function signIn(name: string, given: string, from: string, index: number): Promise<AxiosResponse> {
    const replica = stack.identities[index % replicas];
    return httpClient(replica?.url ?? '').post(
      '/token',
      { grant_type: 'password', email: `${name}@example.com`, password: given },
      { headers: { 'X-Forwarded-For': from } },
    );
  }

  it('compares no more passwords than the limit and the hash threads allow, as the audit trail shows', async () => {
    const { rows } = await stack.sql(
      'identity',
      "SELECT count(*)::int AS compared FROM audit_events WHERE type = 'token.refused' AND ip = $1",
      [attacker],
    );
    const compared = rows[0]?.compared;
    expect(compared).toBe(guesses.filter(({ status }) => status === 401).length);
    expect(compared).toBeGreaterThanOrEqual(limit);
    // Jobs that run in parallel may all start before the tenth failure is counted.
    expect(compared).toBeLessThan(limit + hashThreads * replicas);
  });

  it('rejects the others with 429 and Retry-After', () => {
    const refused = guesses.filter(({ status }) => status !== 401);
    expect([...new Set(refused.map(({ status }) => status))]).toEqual([429]);
    for (const { headers, data } of refused) {
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
      expect(Number(headers['retry-after'])).toBeLessThanOrEqual(900);
      expect(data).toMatchObject({ status: 429, error: 'too_many_requests' });
    }
  });

  it('lets another user, and the victim at a known address, sign in meanwhile', () => {
    expect(logins.other.map(({ status }) => status)).toEqual(Array(50).fill(200));
    expect(logins.victim.map(({ status }) => status)).toEqual(Array(50).fill(200));
  });

  it('keeps the account locked for that address in both processes, also with the right password', async () => {
    for (const index of [0, 1]) {
      expect((await signIn('victim', password, attacker, index)).status).toBe(429);
      expect((await signIn('victim', password, home, index)).status).toBe(200);
    }
  });

  it('ignores an X-Forwarded-For that the client sends', async () => {
    // The proxy appends the real address; the client controls the entries before it.
    const claimed = await signIn('victim', password, `${home}, ${attacker}`, 0);
    expect(claimed.status).toBe(429);
  });
});
