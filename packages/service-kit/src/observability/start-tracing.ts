import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import {
  BasicTracerProvider,
  BatchSpanProcessor,
  ParentBasedSampler,
  type SpanProcessor,
  TraceIdRatioBasedSampler,
} from '@opentelemetry/sdk-trace-base';
import type { TracingConfig } from '../process/service-environment.ts';
import { Tracing } from './tracing.ts';

/** Sends traces to a collector by OTLP over HTTP. */
export function startTracing(service: string, { endpoint, sampleRatio }: TracingConfig): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` });
  return tracingTo(service, new BatchSpanProcessor(exporter), sampleRatio);
}

/** Sends traces to a processor. A caller's sampling decision applies to its requests. */
export function tracingTo(service: string, processor: SpanProcessor, sampleRatio = 1): Tracing {
  const provider = new BasicTracerProvider({
    resource: resourceFromAttributes({ 'service.name': service, 'service.namespace': 'tessera' }),
    sampler: new ParentBasedSampler({ root: new TraceIdRatioBasedSampler(sampleRatio) }),
    spanProcessors: [processor],
  });
  return new Tracing({ tracer: provider.getTracer('tessera'), shutdown: () => provider.shutdown() });
}
