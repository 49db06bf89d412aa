import type { ServerResponse } from 'node:http';
import { type ProjectAccess, unseenEvents } from '../issue-core/project-access.ts';
import { accessChangedText, type StreamedEvent } from './streamed-event.ts';

/** The reasons for the end of a stream. */
export const streamEnds = [
  'client',
  'token_expired',
  'identity_inactive',
  'session_ended',
  'slow_client',
  'shutdown',
] as const;
export type StreamEnd = (typeof streamEnds)[number];

/** The person, and the session or token, of a stream. */
export interface StreamOwner {
  identityId: string;
  /** Whether the person had the rights of staff at the start. */
  isStaff: boolean;
  /** The key of the web session; undefined with a token. */
  sessionKey: Uint8Array | undefined;
  /** The session epoch of the token; undefined if it does not say. */
  sessionEpoch: number | undefined;
}

interface EventStreamOptions {
  response: ServerResponse;
  owner: StreamOwner;
  tokenExpiresAt: Date;
  /** Undefined sends all events. */
  matches: ((event: StreamedEvent) => boolean) | undefined;
  /** What the person sees at the start. */
  access: ProjectAccess;
}

/** How long an ended stream waits for a client that does not read, in milliseconds. */
const endMs = 1_000;

/** The open response of one client. */
export class EventStream {
  readonly owner: StreamOwner;
  readonly tokenExpiresAt: Date;
  readonly #matches: EventStreamOptions['matches'];
  #access: ProjectAccess;
  #unseen: ReadonlySet<string>;
  readonly #response: ServerResponse;
  #end: StreamEnd = 'client';
  #isEnded = false;
  #sentAt = performance.now();

  constructor({ response, owner, tokenExpiresAt, matches, access }: EventStreamOptions) {
    this.#response = response;
    this.owner = owner;
    this.tokenExpiresAt = tokenExpiresAt;
    this.#matches = matches;
    this.#access = access;
    this.#unseen = unseenEvents(access.scope);
    this.#record('client');
  }

  /** The reason for the end; only after it. */
  get reason(): StreamEnd {
    return this.#end;
  }

  /** Whether the stream sends all events. */
  get sendsAll(): boolean {
    return this.#matches === undefined && this.#unseen.size === 0;
  }

  /** Whether the stream sends an event. */
  sends(event: StreamedEvent): boolean {
    return !this.#unseen.has(event.projectId) && (this.#matches?.(event) ?? true);
  }

  /**
   * Sends no further events of projects that the person does not see. Tells the client if the person sees others than before.
   * @returns whether they do
   */
  see(access: ProjectAccess): boolean {
    const isOther = access.differsFrom(this.#access);
    this.#access = access;
    this.#unseen = unseenEvents(access.scope);
    if (isOther) this.send(accessChangedText);
    return isOther;
  }

  /** The number of bytes that the operating system has not accepted yet. */
  get unsentBytes(): number {
    return this.#response.writableLength;
  }

  get idleMs(): number {
    return performance.now() - this.#sentAt;
  }

  send(content: string | Buffer): void {
    if (this.#isEnded || this.#response.destroyed) return;
    this.#sentAt = performance.now();
    this.#response.write(content);
  }

  /** Ends the response after the sent events. */
  end(reason: StreamEnd, content = `: ${reason}\n\n`): void {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#record(reason);
    const { socket } = this.#response;
    this.#response.end(content);
    setTimeout(() => {
      if (!this.#response.closed) socket?.destroy();
    }, endMs).unref();
  }

  /** Closes the connection of a client that does not read. */
  drop(): void {
    this.#isEnded = true;
    this.#record('slow_client');
    this.#response.socket?.destroy();
  }

  // The access log is written before other listeners of `close` are called.
  #record(reason: StreamEnd): void {
    this.#end = reason;
    const { req } = this.#response;
    req.logged = { ...req.logged, stream_end: reason };
  }
}
