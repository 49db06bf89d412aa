import { describe, expect, it } from '@jest/globals';
import { getLiveness, getReadiness } from '@tessera/contracts';
import { everyone, Health, route } from '../src/index.ts';
import { startApp } from './support/test-app.ts';

function probes(health: Health) {
  const { client } = startApp([
    route(getLiveness, { access: everyone }, () => health.liveness()),
    route(getReadiness, { access: everyone }, () => health.readiness()),
  ]);
  return client;
}

const never = () => new Promise<boolean>(() => undefined);

describe('Health', () => {
  it('is alive and ready while every check passes', async () => {
    const client = probes(new Health({ checks: [{ name: 'database', check: async () => true }] }));
    const [live, ready] = [await client.get('/healthz'), await client.get('/readyz')];
    expect([live.status, live.body]).toEqual([200, { status: 'ok' }]);
    expect([ready.status, ready.body]).toEqual([
      200,
      { status: 'ready', checks: { database: true, not_draining: true } },
    ]);
    expect(ready.headers['cache-control']).toBe('no-store');
  });

  it.each([
    ['answers false', async () => false],
    ['rejects', () => Promise.reject(new Error('secret-internals'))],
    [
      'throws',
      () => {
        throw new Error('secret-internals');
      },
    ],
    ['never answers', never],
  ])('is alive and not ready when a check %s, and says no more than its name', async (_how, check) => {
    const checks = [
      { name: 'cache', check: async () => true },
      { name: 'database', check },
    ];
    const client = probes(new Health({ checks, timeoutMs: 50 }));
    const ready = await client.get('/readyz');
    expect([ready.status, ready.body]).toEqual([
      503,
      { status: 'not_ready', checks: { cache: true, database: false, not_draining: true } },
    ]);
    expect((await client.get('/healthz')).status).toBe(200);
  });

  it('asks once for a storm of probes, and again after the kept answer is old', async () => {
    let asked = 0;
    const check = async () => {
      asked += 1;
      return asked > 1;
    };
    const client = probes(new Health({ checks: [{ name: 'database', check }], cacheMs: 200 }));
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await client.get('/readyz')).status),
    );
    expect([asked, new Set(statuses)]).toEqual([1, new Set([503])]);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect((await client.get('/readyz')).status).toBe(200);
    expect(asked).toBe(2);
  });

  it('is not ready from the moment it drains, whatever answer is kept, and still alive', async () => {
    const health = new Health({ checks: [{ name: 'database', check: async () => true }], cacheMs: 60_000 });
    const client = probes(health);
    expect((await client.get('/readyz')).status).toBe(200);
    health.drain();
    const ready = await client.get('/readyz');
    expect([health.draining, ready.status, ready.body.checks]).toEqual([
      true,
      503,
      { database: true, not_draining: false },
    ]);
    expect((await client.get('/healthz')).status).toBe(200);
  });
});
