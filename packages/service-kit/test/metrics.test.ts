import { once } from 'node:events';
import { createServer } from 'node:http';
import { afterEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import supertest from 'supertest';
import { Metrics, OutcomeCounter } from '../src/index.ts';
import { createMetricsServer } from '../src/observability/metrics-server.ts';
import { type Child, startChild } from './support/child-process.ts';
import { keepLogLines } from './support/log-lines.ts';
import { getRoute, startApp } from './support/test-app.ts';

const children: Child[] = [];
afterEach(() => {
  for (const child of children.splice(0)) child.process.kill('SIGKILL');
});

function startService(environment: Record<string, string>): Child {
  const child = startChild(
    'run-service-process.ts',
    {},
    {
      NODE_ENV: 'test',
      HOST: '127.0.0.1',
      DATABASE_URL: 'postgresql://user@127.0.0.1:1/none',
      SHUTDOWN_DELAY_MS: '0',
      ...environment,
    },
  );
  children.push(child);
  return child;
}

describe('Metrics', () => {
  it('counts requests by method, path template and status, not by URL', async () => {
    const metrics = new Metrics('test');
    const { app } = startApp([getRoute('/people/:email')], { metrics });
    const server = createServer(app).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = supertest(server);
    for (const name of ['ada', 'bob']) await client.get(`/people/${name}@example.com`).expect(200);
    await client.get('/nothing/here').expect(404);
    server.close();
    await once(server, 'close');
    const text = await metrics.registry.metrics();
    expect(text).toContain(
      'http_request_duration_seconds_count{service="test",method="GET",route="/people/:email",status="200"} 2',
    );
    expect(text).toContain('_count{service="test",method="GET",route="unmatched",status="404"} 1');
    expect(text).not.toMatch(/example\.com|nothing/);
  });

  it('reads a pool at each scrape', async () => {
    const metrics = new Metrics('test');
    const pool = { totalCount: 3, idleCount: 1, waitingCount: 4 };
    metrics.observePool('main', pool);
    const text = await metrics.registry.metrics();
    expect(text).toContain('db_pool_connections{pool="main",state="idle",service="test"} 1');
    expect(text).toContain('db_pool_connections{pool="main",state="used",service="test"} 2');
    expect(text).toContain('db_pool_waiting{pool="main",service="test"} 4');
    pool.waitingCount = 0;
    expect(await metrics.registry.metrics()).toContain('db_pool_waiting{pool="main",service="test"} 0');
  });

  it('counts outcomes, and returns the result or throws the error of the call', async () => {
    const metrics = new Metrics('test');
    const counter = metrics.counter('calls_total', 'Calls.', ['outcome']);
    const outcomes = new OutcomeCounter(counter, 'ok', (error) => (error === 'no' ? 'refused' : 'failed'));
    expect(await outcomes.count(Promise.resolve(7))).toBe(7);
    await expect(outcomes.count(Promise.reject('no'))).rejects.toBe('no');
    await expect(outcomes.count(Promise.reject(new Error('?')))).rejects.toThrow('?');
    const text = await metrics.registry.metrics();
    for (const outcome of ['ok', 'refused', 'failed'])
      expect(text).toContain(`calls_total{outcome="${outcome}",service="test"} 1`);
  });
});

describe('the metrics server', () => {
  it('responds only to GET /metrics', async () => {
    const client = supertest(createMetricsServer(new Metrics('test'), keepLogLines().logger));
    const response = await client.get('/metrics').expect(200);
    expect(response.headers['content-type']).toMatch(/^text\/plain; version=0\.0\.4/);
    await client.get('/').expect(404);
    await client.get('/healthz').expect(404);
    await client.post('/metrics').expect(404);
  });

  it('serves process metrics on a separate port, and does not keep the process alive', async () => {
    const service = startService({ METRICS_PORT: '0' });
    await eventually(() => service.output().includes('"listening"'));
    const port = service.lines().find(({ msg }) => msg === 'serving metrics')?.metrics_port;
    const text = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    for (const name of [
      'nodejs_eventloop_lag_p99_seconds',
      'process_cpu_seconds_total',
      'process_resident_memory_bytes',
      'nodejs_heap_size_used_bytes',
    ])
      expect(text).toMatch(new RegExp(`^${name}\\{.*service="run-test"`, 'm'));
    const served = service.lines().find(({ msg }) => msg === 'listening')?.port;
    expect(await (await fetch(`http://127.0.0.1:${served}/metrics`)).text()).toBe('ok');
    service.process.kill('SIGTERM');
    expect(await service.ended).toBe(0);
  });

  it('is off by default, and refuses an invalid port', async () => {
    const service = startService({});
    await eventually(() => service.output().includes('"listening"'));
    expect(service.output()).not.toContain('metrics');
    const refused = startService({ METRICS_PORT: '99999' });
    expect(await refused.ended).toBe(78);
    expect(refused.errors()).toContain('METRICS_PORT: must be off or a port from 0 to 65535');
  });
});
