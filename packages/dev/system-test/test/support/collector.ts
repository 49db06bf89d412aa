import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { z } from 'zod';

const attributes = z
  .array(z.looseObject({ key: z.string(), value: z.looseObject({ stringValue: z.string().optional() }) }))
  .transform((list) => Object.fromEntries(list.map(({ key, value }) => [key, value.stringValue])));

// OTLP over HTTP, as JSON.
const exportSchema = z.looseObject({
  resourceSpans: z.array(
    z.looseObject({
      resource: z.looseObject({ attributes }),
      scopeSpans: z.array(
        z.looseObject({
          spans: z.array(
            z.looseObject({
              traceId: z.string(),
              spanId: z.string(),
              parentSpanId: z.string().optional(),
              name: z.string(),
              attributes,
            }),
          ),
        }),
      ),
    }),
  ),
});

export interface ReceivedSpan {
  service: string | undefined;
  traceId: string;
  spanId: string;
  parentSpanId?: string | undefined;
  name: string;
  attributes: Record<string, string | undefined>;
}

/** A trace collector that keeps the traces in memory. */
export async function startCollector() {
  const spans: ReceivedSpan[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    for (const { resource, scopeSpans } of exportSchema.parse(JSON.parse(body)).resourceSpans) {
      const service = resource.attributes['service.name'];
      spans.push(...scopeSpans.flatMap((scope) => scope.spans.map((span) => ({ service, ...span }))));
    }
    response.writeHead(200, { 'Content-Type': 'application/json' }).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    spans,
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () => new Promise((resolve) => server.close(resolve)),
  };
}
