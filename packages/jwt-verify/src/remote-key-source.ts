import type { KeyObject } from 'node:crypto';
import { KeysUnavailableError } from './errors.ts';
import { type HeldKeys, holdKeys, isSameKeys } from './held-keys.ts';
import { JwksClient } from './jwks-client.ts';
import type { KeySource } from './key-source.ts';

export interface RemoteKeySourceOptions {
  /** Absolute, http or https, without credentials. From configuration, never from a token. */
  jwksUri: string;
  /** Timeout of a fetch, in milliseconds. Default 2,000. */
  timeoutMs?: number;
  /** Minimum time between a fetch and the next one that an unknown kid may cause, in seconds. Default 30. */
  unknownKidCooldownSeconds?: number;
  /** Minimum time between a failed fetch and the next one, in seconds. Default 5. */
  failureCooldownSeconds?: number;
  /** How long stale keys are used while fetches fail, in seconds. Default 24 hours. */
  staleIfErrorSeconds?: number;
  /** Called after every fetch, for logs and metrics. */
  onEvent?: (event: KeySourceEvent) => void;
  /** The time of a monotonic clock, in milliseconds. */
  now?: () => number;
}

export type KeySourceEvent =
  | { type: 'refreshed'; kids: string[]; ignored: number; changed: boolean }
  /** `ready`: whether tokens are still verified with the previous keys. */
  | { type: 'refresh_failed'; reason: string; ready: boolean };

/** The state of a key source, for readiness and metrics. */
export interface KeySourceStatus {
  /** Whether tokens can be verified: false before the first successful fetch, and when the keys are too stale. */
  ready: boolean;
  /** Whether the keys are stale, because identity could not be reached. */
  stale: boolean;
  kids: string[];
  lastFetchedAt: Date | undefined;
}

// Keys are renewed in the last fifth of their freshness, so that a busy service never has stale keys.
const renewalShare = 0.8;
// How long stale keys are used without waiting for the renewal, which runs in the background.
const graceMs = 60_000;

/**
 * The key set of identity over HTTP (docs/spec/identity-service.md 2.7). It is fresh for its `Cache-Control: max-age`, renewed in
 * the background by one fetch at a time, and still used while identity is down. An unknown kid causes at most one fetch
 * per cooldown, so that invented kids cannot cause many requests.
 */
export class RemoteKeySource implements KeySource {
  readonly #client: JwksClient;
  readonly #unknownKidCooldownMs: number;
  readonly #failureCooldownMs: number;
  readonly #staleIfErrorMs: number;
  readonly #onEvent: (event: KeySourceEvent) => void;
  readonly #now: () => number;
  #held: HeldKeys | undefined;
  #refused: ReadonlySet<string> = new Set();
  #inFlight: Promise<void> | undefined;
  #lastAttemptAt = Number.NEGATIVE_INFINITY;
  #lastAttemptFailed = false;
  #started = false;
  #timer: NodeJS.Timeout | undefined;

  /** Throws `TypeError` for an invalid `jwksUri`. Does not fetch. */
  constructor(options: RemoteKeySourceOptions) {
    this.#client = new JwksClient({ jwksUri: options.jwksUri, timeoutMs: options.timeoutMs ?? 2_000 });
    this.#unknownKidCooldownMs = (options.unknownKidCooldownSeconds ?? 30) * 1000;
    this.#failureCooldownMs = (options.failureCooldownSeconds ?? 5) * 1000;
    this.#staleIfErrorMs = (options.staleIfErrorSeconds ?? 86_400) * 1000;
    this.#onEvent = options.onEvent ?? (() => undefined);
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Fetches the keys and keeps them fresh by a timer that does not keep the process alive. Resolves after the first
   * attempt, even a failed one, because further attempts follow.
   */
  async start(): Promise<KeySourceStatus> {
    this.#started = true;
    await this.#refresh();
    return this.status();
  }

  /** Stops the timer. */
  stop(): void {
    this.#started = false;
    clearTimeout(this.#timer);
  }

  status(): KeySourceStatus {
    const held = this.#usable();
    return {
      ready: held !== undefined,
      stale: held !== undefined && this.#ageOf(held) > held.maxAgeMs,
      kids: [...(held?.keys.keys() ?? [])],
      lastFetchedAt: this.#held?.lastFetchedAt,
    };
  }

  /**
   * Refuses these kids from now on, also while their keys are fresh, and no other ones: identity has deleted the keys. The
   * rest of the key set is fetched anew.
   */
  refuse(kids: readonly string[]): void {
    this.#refused = new Set(kids);
    if (kids.some((kid) => this.#held?.keys.has(kid)) && this.#mayRefresh(this.#failureCooldownMs))
      void this.#refresh();
  }

  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined> {
    if (this.#refused.has(kid)) return undefined;
    const held = this.#usable();
    const key = held?.keys.get(kid);
    if (held === undefined || key === undefined) return this.#findAfterRefresh(kid);
    const ageMs = this.#ageOf(held);
    if (ageMs < held.maxAgeMs * renewalShare) return key;
    // Keys that have been stale for long may include a withdrawn key, so the request waits for the renewal, except
    // during an outage.
    if (ageMs > held.maxAgeMs + graceMs && !this.#failedLately()) return this.#findAfterRefresh(kid);
    if (this.#mayRefresh(this.#failureCooldownMs)) void this.#refresh();
    return key;
  }

  async #findAfterRefresh(kid: string): Promise<KeyObject | undefined> {
    const isUnknownKid = this.#usable()?.keys.has(kid) === false;
    const cooldownMs =
      isUnknownKid && !this.#lastAttemptFailed ? this.#unknownKidCooldownMs : this.#failureCooldownMs;
    if (this.#inFlight !== undefined || this.#mayRefresh(cooldownMs)) await this.#refresh();
    const held = this.#usable();
    const key = held?.keys.get(kid);
    // The kid may be newer than the last successful fetch. While identity is down, this is unknown.
    if (held === undefined || (key === undefined && this.#lastAttemptFailed)) {
      const retryAfterSeconds = Math.max(1, Math.ceil(this.#failureCooldownMs / 1000));
      throw new KeysUnavailableError('the key set cannot be fetched', retryAfterSeconds);
    }
    return key;
  }

  #usable(): HeldKeys | undefined {
    const held = this.#held;
    if (held === undefined) return undefined;
    return this.#ageOf(held) <= held.maxAgeMs + this.#staleIfErrorMs ? held : undefined;
  }

  #ageOf(held: HeldKeys): number {
    return this.#now() - held.confirmedAt;
  }

  #mayRefresh(cooldownMs: number): boolean {
    return this.#now() - this.#lastAttemptAt >= cooldownMs;
  }

  #failedLately(): boolean {
    return this.#lastAttemptFailed && this.#now() - this.#lastAttemptAt < graceMs;
  }

  // Never rejects. The state and the event contain the result.
  #refresh(): Promise<void> {
    this.#inFlight ??= this.#fetch().finally(() => {
      this.#inFlight = undefined;
      this.#scheduleNext();
    });
    return this.#inFlight;
  }

  async #fetch(): Promise<void> {
    this.#lastAttemptAt = this.#now();
    try {
      const response = await this.#client.fetch(this.#held?.etag);
      const held = holdKeys(this.#held, response, this.#now());
      const changed = !isSameKeys(this.#held, held);
      this.#held = held;
      this.#lastAttemptFailed = false;
      this.#emit({
        type: 'refreshed',
        kids: [...held.keys.keys()],
        ignored: response.keySet?.ignored ?? 0,
        changed,
      });
    } catch (error) {
      this.#lastAttemptFailed = true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#emit({ type: 'refresh_failed', reason, ready: this.#usable() !== undefined });
    }
  }

  #scheduleNext(): void {
    clearTimeout(this.#timer);
    if (!this.#started) return;
    const freshMs = (this.#held?.maxAgeMs ?? 0) * renewalShare;
    const delayMs = this.#lastAttemptFailed ? this.#failureCooldownMs : freshMs;
    this.#timer = setTimeout(() => void this.#refresh(), delayMs).unref();
  }

  #emit(event: KeySourceEvent): void {
    try {
      this.#onEvent(event);
    } catch {
      // An error in the listener must not count as a failed fetch.
    }
  }
}
