import { type IdentityEvent, identityEventFeedSchema } from '@tessera/contracts';
import type { StoredEvent } from '@tessera/service-kit';

const eventSchema = identityEventFeedSchema.shape.events.element;

/** Converts a stored event to its representation; undefined for a type that only a later release knows. */
export function presentEvent({ id, type, at, subjectId, data }: StoredEvent): IdentityEvent | undefined {
  const timestamp = at.toISOString();
  return eventSchema.safeParse({ id, type, timestamp, data: { identity_id: subjectId, ...data } }).data;
}
