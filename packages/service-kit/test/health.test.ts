import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { Health, healthRoutes } from '../src/index.ts';
import { keepLogLines } from './support/log-lines.ts';
import { startApp } from './support/test-app.ts';

function probes(health: Health) {
  return startApp(healthRoutes(health)).client;
}

const never = () => new Promise<boolean>(() => undefined);

describe('Health', () => {
  it('logs a probe at debug, and at info if it fails', async () => {
    let isUp = true;
    const health = new Health({ checks: [{ name: 'database', check: async () => isUp }], cacheMs: 0 });
    const { client, accessLines } = startApp(healthRoutes(health));
    await client.get('/healthz').expect(200);
    await client.get('/readyz').expect(200);
    isUp = false;
    await client.get('/readyz').expect(503);
    await eventually(() => accessLines().length === 3);
    expect(accessLines().map(({ route, level }) => [route, level])).toEqual([
      ['/healthz', 'debug'],
      ['/readyz', 'debug'],
      ['/readyz', 'info'],
    ]);
  });

  it('is alive and ready while all checks pass', async () => {
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
    ['returns false', async () => false],
    ['rejects', () => Promise.reject(new Error('secret-internals'))],
    [
      'throws',
      () => {
        throw new Error('secret-internals');
      },
    ],
    ['never settles', never],
  ])('is alive and not ready when a check %s, and reveals only its name', async (_how, check) => {
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

  it('logs the reasons when they change, and when the service is ready', async () => {
    const { logger, lines } = keepLogLines();
    let problem: (() => Promise<boolean>) | undefined = () => Promise.reject(new Error('no such host'));
    const checks = [{ name: 'database', check: async () => problem?.() ?? true }];
    const health = new Health({ checks, cacheMs: 0, timeoutMs: 20, logger });
    const probe = async () => {
      await new Promise((resolve) => setTimeout(resolve, 2));
      await health.readiness();
    };
    for (let count = 0; count < 3; count += 1) await probe();
    problem = never;
    await probe();
    problem = async () => false;
    await probe();
    problem = undefined;
    for (let count = 0; count < 2; count += 1) await probe();
    expect(lines.map(({ msg, reasons }) => [msg, reasons])).toEqual([
      ['not ready', { database: 'no such host' }],
      ['not ready', { database: 'no result within 20 ms' }],
      ['not ready', { database: 'not yet' }],
      ['ready', undefined],
    ]);
  });

  it('runs the checks once for concurrent probes, and again when the cached result is old', async () => {
    let asked = 0;
    const check = async () => {
      asked += 1;
      return asked > 1;
    };
    const health = new Health({ checks: [{ name: 'database', check }], cacheMs: 200 });
    const statuses = await Promise.all(
      Array.from({ length: 20 }, async () => (await health.readiness()).status),
    );
    expect([asked, new Set(statuses)]).toEqual([1, new Set([503])]);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect((await health.readiness()).status).toBe(200);
    expect(asked).toBe(2);
  });

  it('is alive and not ready as soon as it drains, even with a cached result', async () => {
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
