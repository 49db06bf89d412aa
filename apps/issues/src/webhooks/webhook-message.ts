import { presentEvent } from '../events/event.presenter.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';

/** The type of the event that a person sends to try an endpoint. */
export const testType = 'webhook.test';

/** The parts of a delivery that its message contains. */
export interface DeliveredEvent {
  id: bigint;
  endpointId: string;
  /** Null for a test. */
  eventId: bigint | null;
  type: string;
  subjectId: string;
  data: Record<string, unknown>;
  eventAt: Date;
}

/**
 * Returns the id of a message, which stays the same over all attempts. A receiver recognises a repetition by it. A failover may
 * give the id of a delivery again, so that of a test contains its time; the id of an event is never given again.
 */
export function messageId({
  id,
  endpointId,
  eventId,
  eventAt,
}: Pick<DeliveredEvent, 'id' | 'endpointId' | 'eventId' | 'eventAt'>) {
  return `msg_${endpointId.replaceAll('-', '')}_${eventId ?? `t${id}_${eventAt.getTime().toString(36)}`}`;
}

/** Returns the body of a message: the event as the feed shows it; undefined for a type that only a later release knows. */
export function payloadOf(
  { eventId, endpointId, type, subjectId, data, eventAt }: DeliveredEvent,
  urls: Pick<IssueUrls, 'keyOf'>,
): object | undefined {
  if (eventId === null) return { type, timestamp: eventAt.toISOString(), data: { webhook_id: endpointId } };
  return presentEvent({ id: Number(eventId), type, subjectId, data, at: eventAt }, urls);
}
