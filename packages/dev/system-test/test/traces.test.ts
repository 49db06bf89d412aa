import { describe, expect, it } from '@jest/globals';
import { type ReceivedSpan, startCollector } from './support/collector.ts';
import { Person, startPair } from './support/pair.ts';

const password = 'a password of the system test';

describe('a trace', () => {
  it('spans issues, identity and both databases, and its id is in the logs', async () => {
    const collector = await startCollector();
    const environment = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    const pair = await startPair({ environment: { identity: environment, issues: environment } });
    await pair.internal.post('/internal/identities', {
      email: 'staff@example.com',
      password,
      is_staff: true,
    });
    const staff = await new Person(pair, 'staff@example.com', password).signIn();
    const created = await staff.issues.post('/users/', { email: 'new@example.com', password });
    expect(created.status).toBe(201);
    // The last spans are sent when the process ends.
    expect(await pair.stop()).toEqual([0, 0]);
    await collector.close();

    const { spans } = collector;
    const parentOf = (span: ReceivedSpan | undefined) =>
      spans.find(({ spanId }) => spanId === span?.parentSpanId);
    const entry = spans.find(({ service, name }) => service === 'issues' && name === 'POST /api/v1/users/');
    const served = spans.find(
      ({ traceId, service, name }) =>
        traceId === entry?.traceId && service === 'identity' && name === 'POST /internal/identities',
    );
    const call = parentOf(served);
    expect([call?.service, call?.name, parentOf(call)?.spanId]).toEqual([
      'issues',
      'POST identity',
      entry?.spanId,
    ]);
    const statements = spans.filter(
      ({ traceId, attributes }) =>
        traceId === entry?.traceId && attributes['db.system.name'] === 'postgresql',
    );
    expect(statements.filter((span) => parentOf(span) === served).length).toBeGreaterThan(0);
    expect(statements.filter(({ service }) => service === 'issues').length).toBeGreaterThan(0);
    for (const { log } of [pair.issues, pair.identity])
      expect(log).toContain(`"trace_id":"${entry?.traceId}"`);
    expect(JSON.stringify(spans)).not.toMatch(/system test|example\.com/);
  });

  it('is not created without a configured collector', async () => {
    const pair = await startPair();
    await pair.public.get('/jwks');
    expect(await pair.stop()).toEqual([0, 0]);
    expect(pair.identity.log).not.toContain('trace_id');
  });
});
