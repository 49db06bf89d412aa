import type { IssueEventType } from '@tessera/contracts';
import { type EventPlace, eventCursor, type PlacedEvent } from '@tessera/service-kit';
import type { IssueName, IssueUrls } from '../issue-core/issue-reference.ts';
import { presentEvent, projectOf } from './event.presenter.ts';

/** An event as all streams send it, encoded once. */
export interface StreamedEvent {
  place: EventPlace;
  type: IssueEventType;
  projectId: string;
  issueId: string;
  issueNumber: number;
  bytes: Buffer;
}

/** The events that a stream sends. Undefined members match every event. */
export interface EventFilter {
  issues?: readonly IssueName[] | undefined;
  types?: readonly IssueEventType[] | undefined;
}

/** Encodes an event; undefined for a type that only a later release knows. */
export function toStreamedEvent(
  event: PlacedEvent,
  urls: Pick<IssueUrls, 'keyOf'>,
): StreamedEvent | undefined {
  const presented = presentEvent(event, urls);
  if (presented === undefined) return undefined;
  const { place, subjectId, data } = event;
  const text = `id: ${eventCursor(place)}\nevent: ${presented.type}\ndata: ${JSON.stringify(presented)}\n\n`;
  return {
    place,
    type: presented.type,
    projectId: projectOf(event),
    issueId: subjectId,
    issueNumber: Number(data.number),
    bytes: Buffer.from(text),
  };
}

/** Returns the test for the events that a stream with this filter sends; undefined if it sends all. */
export function eventMatcher({
  issues,
  types,
}: EventFilter): ((event: StreamedEvent) => boolean) | undefined {
  if (issues === undefined && types === undefined) return undefined;
  const ids = new Set(issues?.flatMap((issue) => ('id' in issue ? [issue.id] : [])));
  const numbers = new Set(issues?.flatMap((issue) => ('number' in issue ? [issue.number] : [])));
  const known = new Set(types);
  return ({ type, issueId, issueNumber }) =>
    (types === undefined || known.has(type)) &&
    (issues === undefined || ids.has(issueId) || numbers.has(issueNumber));
}

/** Encodes a position without an event. A client that reconnects sends it. */
export function positionText(place: EventPlace): string {
  return `id: ${eventCursor(place)}\n\n`;
}

/** Encodes the number of unread notifications. It has no position, so a client keeps that of the events. */
export function unreadText(count: number): string {
  return `event: notifications\ndata: ${JSON.stringify({ unread_count: count })}\n\n`;
}

/** The message that the person sees other projects than before. Without an id: it is no event. */
export const accessChangedText = 'event: access.changed\ndata: {}\n\n';

/** Encodes a comment line, which keeps proxies from closing the stream, and an event, because `EventSource` reports no comments. */
export function heartbeatText(place: EventPlace | undefined): string {
  const id = place === undefined ? '' : `id: ${eventCursor(place)}\n`;
  return `:\n${id}event: heartbeat\ndata: {}\n\n`;
}

/** Encodes a position of the database that has the events which follow, for lists from a standby. Without an id: it is no event. */
export function databasePositionText(position: string): string {
  return `event: position\ndata: ${JSON.stringify({ position })}\n\n`;
}

/** Encodes the message that events may be missing before a place. */
export function resetText(place: EventPlace): string {
  const next = eventCursor(place);
  return `id: ${next}\nevent: reset\ndata: ${JSON.stringify({ next })}\n\n`;
}
