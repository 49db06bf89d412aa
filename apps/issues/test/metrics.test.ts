import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { FakeIdentity } from './support/fake-identity.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the metrics of issues', () => {
  let app: TestApp;
  let identity: FakeIdentity;
  beforeAll(async () => {
    identity = await FakeIdentity.start();
    app = await startTestApp({}, { identity });
  });
  afterAll(async () => {
    await app.close();
    await identity.stop();
  });

  const scrape = () => app.dependencies.metrics.registry.metrics();

  it('report the state of the circuit breaker of identity', async () => {
    expect(await scrape()).toContain('issues_identity_breaker_state{state="closed",service="issues"} 1');
    expect(await scrape()).toContain('issues_identity_breaker_state{state="open",service="issues"} 0');
    identity.answer = (_request, response) => response.writeHead(503).end();
    const id = '00000000-0000-4000-8000-000000000000';
    for (let calls = 0; calls < 3; calls += 1) {
      await expect(app.dependencies.mirror.refresh(id)).rejects.toThrow();
    }
    expect(await scrape()).toContain('issues_identity_breaker_state{state="open",service="issues"} 1');
  });

  it('report both connection pools and label routes with their templates', async () => {
    await app.http.get('/readyz');
    await app.http.get('/api/v1/issues/').expect(401);
    const text = await scrape();
    for (const pool of ['main', 'lists'])
      expect(text).toMatch(new RegExp(`db_pool_connections\\{pool="${pool}",state="idle"`));
    expect(text).toMatch(/http_request_duration_seconds_count\{.*method="GET",route="\/readyz"/);
  });

  it('have every outcome of a webhook before the first attempt', async () => {
    const text = await scrape();
    for (const outcome of ['delivered', 'forbidden_target', 'timeout', 'http_error'])
      expect(text).toContain(`issues_webhook_attempts_total{outcome="${outcome}",service="issues"} 0`);
  });

  it('are not served on the public port', async () => {
    await app.http.get('/metrics').expect(404);
  });
});
