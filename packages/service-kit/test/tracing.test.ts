import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, describe, expect, it } from '@jest/globals';
import { InMemorySpanExporter, SimpleSpanProcessor } from '@opentelemetry/sdk-trace-base';
import { createPool, requestContext, type Tracing } from '../src/index.ts';
import { tracingTo } from '../src/observability/start-tracing.ts';
import { keepLogLines } from './support/log-lines.ts';
import { createDatabase, dropDatabases } from './support/test-database.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});
afterAll(dropDatabases);

function record(service: string) {
  const exporter = new InMemorySpanExporter();
  return {
    tracing: tracingTo(service, new SimpleSpanProcessor(exporter)),
    spans: () => exporter.getFinishedSpans(),
  };
}

async function serve(tracing: Tracing, listener: RequestListener): Promise<string> {
  const server = createServer(tracing.traceRequests(listener)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => new Promise((resolve) => server.close(resolve)));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

describe('Tracing', () => {
  it('joins a request, its request to another service, and the statements there', async () => {
    const [front, back] = [record('front'), record('back')];
    const pool = createPool({
      connectionString: await createDatabase(),
      max: 2,
      connectionTimeoutMs: 2000,
      statementTimeoutMs: 2000,
      applicationName: 'test',
      onError: () => undefined,
    });
    closing.push(() => pool.end());
    back.tracing.tracePool(pool);
    const backUrl = await serve(back.tracing, async (request, response) => {
      request.operation = { method: 'GET', path: '/things/:id' };
      await pool.query('SELECT $1::text AS secret', ['hunter2']);
      const client = await pool.connect();
      await client.query('BEGIN');
      await client.query('COMMIT');
      client.release();
      response.end();
    });
    const frontUrl = await serve(front.tracing, async (_request, response) => {
      await front.tracing.traceCall('GET back', {}, (headers) => fetch(`${backUrl}/things/7`, { headers }));
      response.end();
    });
    await fetch(frontUrl);
    const [call, entry] = front.spans();
    const [select, begin, commit, served] = back.spans();
    expect(back.spans().map(({ name }) => name)).toEqual(['SELECT', 'BEGIN', 'COMMIT', 'GET /things/:id']);
    expect(new Set([...front.spans(), ...back.spans()].map((span) => span.spanContext().traceId)).size).toBe(
      1,
    );
    expect(call?.parentSpanContext?.spanId).toBe(entry?.spanContext().spanId);
    expect(served?.parentSpanContext?.spanId).toBe(call?.spanContext().spanId);
    for (const statement of [select, begin, commit])
      expect(statement?.parentSpanContext?.spanId).toBe(served?.spanContext().spanId);
    expect(select?.attributes).toEqual({
      'db.system.name': 'postgresql',
      'db.query.text': 'SELECT $1::text AS secret',
    });
    expect(served?.resource.attributes['service.name']).toBe('back');
  });

  it('continues the trace of a caller, and puts its id into the log line', async () => {
    const { tracing, spans } = record('test');
    const log = keepLogLines();
    const begin = requestContext(log.logger);
    const url = await serve(tracing, (request, response) => {
      begin(request, response);
      response.writeHead(500).end();
    });
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01`, 'X-Request-Id': 'abc' };
    await fetch(url, { headers });
    expect(log.lines.at(-1)).toMatchObject({ request_id: 'abc', trace_id: traceId });
    const [span] = spans();
    expect(span?.spanContext().traceId).toBe(traceId);
    expect(span?.attributes).toMatchObject({ request_id: 'abc', 'http.response.status_code': 500 });
    expect(span?.status.code).toBe(2);
  });

  it.each(['/healthz', '/readyz/', '/internal/events?after=x'])(
    'has no span of %s, but in the trace of a caller',
    async (path) => {
      const { tracing, spans } = record('test');
      const url = await serve(tracing, (_request, response) => void response.end());
      await fetch(`${url}${path}`);
      expect(spans()).toEqual([]);
      const headers = { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' };
      await fetch(`${url}${path}`, { headers });
      expect(spans()).toHaveLength(1);
    },
  );

  it('records the class of an error, not its message', async () => {
    const { tracing, spans } = record('test');
    const call = tracing.traceCall('x', {}, () => Promise.reject(new TypeError('hunter2')));
    await expect(call).rejects.toThrow('hunter2');
    expect(spans()[0]?.attributes).toEqual({ 'error.type': 'TypeError' });
    expect(JSON.stringify([spans()[0]?.events, spans()[0]?.status])).not.toContain('hunter2');
  });

  it('does not trace statements outside a request', async () => {
    const { tracing, spans } = record('test');
    const pool = createPool({
      connectionString: await createDatabase(),
      max: 1,
      connectionTimeoutMs: 2000,
      statementTimeoutMs: 2000,
      applicationName: 'test',
      onError: () => undefined,
    });
    closing.push(() => pool.end());
    tracing.tracePool(pool);
    expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }]);
    expect(spans()).toEqual([]);
  });
});
