import type { Metrics } from '@tessera/service-kit';
import { type StreamEnd, streamEnds } from './event-stream.ts';
import type { EventStreams } from './event-streams.ts';

/** Exposes the number of open streams. Returns the function to call when a stream has ended. */
export function observeStreams(
  metrics: Metrics,
  streams: () => Pick<EventStreams, 'size'>,
): (reason: StreamEnd) => void {
  const gauge = metrics.gauge('event_streams', 'Open streams of events.', [], () => {
    gauge.set(streams().size);
  });
  const ended = metrics.counter('event_streams_ended_total', 'Ended streams of events, by reason.', [
    'reason',
  ]);
  for (const reason of streamEnds) ended.inc({ reason }, 0);
  return (reason) => ended.inc({ reason });
}
