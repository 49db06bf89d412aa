import type { ServerResponse } from 'node:http';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { streamBacklogMax, streamsMax, streamsPerIdentityMax } from '@tessera/contracts';
import {
  type EventFeed,
  type EventPlace,
  type Logger,
  ProblemError,
  unavailableProblem,
} from '@tessera/service-kit';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import type { ProjectAccess } from '../issue-core/project-access.ts';
import type { AccessReader } from '../issue-store/access-reader.ts';
import type { EventSignal } from './event-signal.ts';
import { EventStream, type StreamEnd, type StreamOwner } from './event-stream.ts';
import { EventTail } from './event-tail.ts';
import type { EndedStream } from './stream-ends.sql.ts';
import {
  databasePositionText,
  type EventFilter,
  eventMatcher,
  heartbeatText,
  positionText,
  resetText,
  type StreamedEvent,
  toStreamedEvent,
} from './streamed-event.ts';
import { type FindChangedNotifications, UnreadCounts } from './unread-counts.ts';

interface EventStreamsOptions {
  feed: Pick<EventFeed, 'readAfter'>;
  /** Returns a position of the database that has all events which were read; undefined without standbys. */
  position?: (() => string | undefined) | undefined;
  signal: Pick<EventSignal, 'subscribe'>;
  urls: Pick<IssueUrls, 'keyOf'>;
  access: Pick<AccessReader, 'ofMany'>;
  /** Returns which of the given streams are to end, and why. */
  findEnded: (owners: readonly StreamOwner[]) => Promise<EndedStream[]>;
  findChangedNotifications: FindChangedNotifications;
  /** Called when a stream has ended. */
  onEnded: (reason: StreamEnd) => void;
  logger: Logger;
}

/** A request for a stream. Without `after`, it starts with later events. */
export interface StreamRequest {
  response: ServerResponse;
  owner: StreamOwner;
  tokenExpiresAt: Date;
  after: EventPlace | undefined;
  filter: EventFilter;
  /** What the person sees. */
  access: ProjectAccess;
  /** Whether the stream has the number of unread notifications of its person. */
  hasUnreadCount: boolean;
}

const sweepMs = 1_000;
/** Number of sweeps between two checks of the identities and sessions. */
const sweepsPerCheck = 2;
/** With the interval of the sweeps, a heartbeat is sent after at most 25 s. */
const idleMaxMs = 24_000;
/** Maximum number of unsent bytes of a stream, and of all streams together. */
const unsentMax = 1024 * 1024;
const unsentTotalMax = 64 * 1024 * 1024;
/** A stream with more unsent bytes counts as one whose client does not read. */
const unsentUsualMax = 64 * 1024;
/** Number of streams that are written without serving other requests in between. */
const streamsPerTurn = 100;

/** All open streams of events of this process. */
export class EventStreams {
  readonly #options: EventStreamsOptions;
  readonly #streams = new Set<EventStream>();
  readonly #unreadCounts: UnreadCounts;
  /** Number of streams by identity, with those that are being opened. */
  readonly #counts = new Map<string, number>();
  #total = 0;
  #tail: EventTail<StreamedEvent> | undefined;
  #sweeper: NodeJS.Timeout | undefined;
  #sweeps = 0;
  #isChecking = false;
  #isDelivering = false;
  #isDraining = false;
  /** Number of streams with many unsent bytes at the last delivery. */
  #slow = 0;

  constructor(options: EventStreamsOptions) {
    this.#options = options;
    const { findChangedNotifications: findChanged, signal, logger } = options;
    this.#unreadCounts = new UnreadCounts({ findChanged, signal, logger });
  }

  get size(): number {
    return this.#streams.size;
  }

  /**
   * Prepares a stream, and returns the function that starts it. Throws a problem if there are too many streams or the
   * events cannot be read.
   */
  async open(request: StreamRequest): Promise<() => void> {
    const tail = this.#reserve(request);
    const backlog = await this.#readBacklog(tail, request.after);
    return () => this.#start(request, tail, backlog);
  }

  /** Ends all streams. The time of `retry` varies, so that the clients do not reconnect together. */
  endAll(): void {
    this.#isDraining = true;
    for (const stream of this.#streams)
      stream.end('shutdown', `retry: ${Math.round(1_000 + Math.random() * 9_000)}\n\n`);
  }

  async close(): Promise<void> {
    this.endAll();
    clearInterval(this.#sweeper);
    await Promise.all([this.#tail?.stop(), this.#unreadCounts.stop()]);
  }

  #reserve({ response, owner: { identityId } }: StreamRequest): EventTail<StreamedEvent> {
    if (this.#isDraining) throw unavailableProblem('The service is stopping.', 1);
    if (response.closed) throw unavailableProblem('The client has disconnected.', 1);
    const open = this.#counts.get(identityId) ?? 0;
    if (open >= streamsPerIdentityMax) throw tooManyStreams();
    if (this.#total >= streamsMax) throw streamsExhausted();
    this.#counts.set(identityId, open + 1);
    this.#total += 1;
    response.once('close', () => this.#release(identityId));
    this.#sweeper ??= setInterval(() => this.#sweep(), sweepMs).unref();
    this.#tail ??= new EventTail({
      ...this.#options,
      present: (event) => toStreamedEvent(event, this.#options.urls),
      deliver: (events) => this.#deliver(events),
      onReset: () => this.#reset(),
    });
    return this.#tail;
  }

  #release(identityId: string): void {
    const open = (this.#counts.get(identityId) ?? 1) - 1;
    if (open === 0) this.#counts.delete(identityId);
    else this.#counts.set(identityId, open);
    this.#total -= 1;
    if (this.#total > 0) return;
    void this.#tail?.stop();
    this.#tail = undefined;
    clearInterval(this.#sweeper);
    this.#sweeper = undefined;
  }

  /** Reads the events that are no longer in memory. Returns undefined if there are too many, or if some were deleted. */
  async #readBacklog(tail: EventTail<StreamedEvent>, after: EventPlace | undefined) {
    const events: StreamedEvent[] = [];
    let place = after;
    // Again only if a thousand events are written during the read.
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await tail.catchUp();
      if (place === undefined || tail.since(place) !== 'earlier') return { events, place };
      const limit = streamBacklogMax - events.length;
      const page = await this.#options.feed.readAfter(place, limit + 1);
      if (page.isReset || page.events.length > limit) return undefined;
      events.push(...page.events.flatMap((event) => toStreamedEvent(event, this.#options.urls) ?? []));
      place = page.horizon;
    }
    return undefined;
  }

  #start(
    { response, owner, tokenExpiresAt, filter, access, hasUnreadCount }: StreamRequest,
    tail: EventTail<StreamedEvent>,
    backlog: { events: StreamedEvent[]; place: EventPlace | undefined } | undefined,
  ): void {
    if (response.closed) return;
    const matches = eventMatcher(filter);
    const stream = new EventStream({ response, owner, tokenExpiresAt, matches, access });
    response.req.streamingSince = performance.now();
    this.#streams.add(stream);
    response.once('close', () => {
      this.#streams.delete(stream);
      this.#unreadCounts.unfollow(stream);
      this.#options.onEnded(stream.reason);
    });
    const { place } = tail;
    const latest = backlog === undefined ? 'earlier' : tail.since(backlog.place ?? place);
    const missed = typeof latest === 'string' ? undefined : [...(backlog?.events ?? []), ...latest];
    const events = missed?.filter((event) => stream.sends(event)).map(({ bytes }) => bytes) ?? [];
    const end = missed === undefined ? resetText(place) : positionText(place);
    stream.send(
      Buffer.concat([Buffer.from(`retry: 3000\n\n${this.#position()}`), ...events, Buffer.from(end)]),
    );
    if (hasUnreadCount) this.#unreadCounts.follow(stream);
    if (this.#isDraining) this.endAll();
  }

  /** Sends events to all streams, and drops those that do not read. */
  async #deliver(events: readonly StreamedEvent[]): Promise<void> {
    const position = Buffer.from(this.#position());
    const all = Buffer.concat([position, ...events.map(({ bytes }) => bytes)]);
    const unsentAllowed = Math.min(unsentMax, unsentTotalMax / Math.max(1, this.#slow));
    let slow = 0;
    this.#isDelivering = true;
    // A stream that starts meanwhile has got these events already.
    for (const [index, stream] of [...this.#streams].entries()) {
      if (index % streamsPerTurn === streamsPerTurn - 1) await nextTurn();
      const unsent = stream.unsentBytes;
      if (unsent > unsentUsualMax) slow += 1;
      if (unsent > unsentAllowed) stream.drop();
      else this.#sendMatching(stream, events, all, position);
    }
    this.#isDelivering = false;
    this.#slow = slow;
  }

  #sendMatching(stream: EventStream, events: readonly StreamedEvent[], all: Buffer, position: Buffer): void {
    if (stream.sendsAll) {
      stream.send(all);
      return;
    }
    const matching = events.filter((event) => stream.sends(event));
    // Node sends the parts together.
    if (matching.length > 0 && position.length > 0) stream.send(position);
    for (const event of matching) stream.send(event.bytes);
  }

  /** The message that precedes events; empty without standbys. */
  #position(): string {
    const position = this.#options.position?.();
    return position === undefined ? '' : databasePositionText(position);
  }

  #reset(): void {
    if (this.#tail === undefined) return;
    const text = this.#position() + resetText(this.#tail.place);
    for (const stream of this.#streams) stream.send(text);
  }

  #sweep(): void {
    // During a delivery, streams differ in the events that they have sent.
    const isEven = !this.#isDelivering && this.#tail !== undefined && this.#streams.size > 0;
    const heartbeat = heartbeatText(isEven ? this.#tail?.place : undefined);
    const now = Date.now();
    for (const stream of this.#streams) {
      if (stream.tokenExpiresAt.getTime() <= now) stream.end('token_expired');
      else if (stream.idleMs > idleMaxMs) stream.send(heartbeat);
    }
    this.#sweeps += 1;
    if (this.#sweeps % sweepsPerCheck === 0) void this.#endUnowned();
  }

  /** Ends the streams of deactivated identities and of ended sessions, and reads what people see; few statements for all streams. */
  async #endUnowned(): Promise<void> {
    if (this.#isChecking || this.#streams.size === 0) return;
    this.#isChecking = true;
    try {
      const streams = [...this.#streams];
      const ended = await this.#options.findEnded(streams.map(({ owner }) => owner));
      for (const { index, reason } of ended) streams[index]?.end(reason);
      const people = streams.map(({ owner: { identityId: id, isStaff } }) => ({ id, isStaff }));
      const accesses = await this.#options.access.ofMany(people);
      for (const [index, access] of accesses.entries())
        if (streams[index]?.see(access)) this.#unreadCounts.repeat(access.scope.readerId);
    } catch (err) {
      this.#options.logger.warn({ err }, 'could not check the owners of the streams');
    } finally {
      this.#isChecking = false;
    }
  }
}

function tooManyStreams(): ProblemError {
  return new ProblemError({
    status: 429,
    code: 'too_many_streams',
    detail: `At most ${streamsPerIdentityMax} streams at the same time.`,
    headers: { 'Retry-After': '10' },
  });
}

function streamsExhausted(): ProblemError {
  return new ProblemError({
    status: 503,
    code: 'streams_exhausted',
    detail: 'This process has no stream left.',
    headers: { 'Retry-After': '10' },
  });
}
