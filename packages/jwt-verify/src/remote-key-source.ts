import type { KeyObject } from 'node:crypto';
import { KeysUnavailableError } from './errors.ts';
import { type HeldKeys, holdKeys, isSameKeys } from './held-keys.ts';
import { JwksClient } from './jwks-client.ts';
import type { KeySource } from './key-source.ts';

export interface RemoteKeySourceOptions {
  /** Absolute, http or https, without credentials. From configuration, never from a token. */
  jwksUri: string;
  /** Bound on one fetch, in milliseconds. Default 2,000. */
  timeoutMs?: number;
  /** Least time between a fetch and the next that an unknown kid may ask for, in seconds. Default 30. */
  unknownKidCooldownSeconds?: number;
  /** Least time between a failed fetch and the next, in seconds. Default 5. */
  failureCooldownSeconds?: number;
  /** How long keys are used after their freshness ended while none can be fetched, in seconds. Default 24 hours. */
  staleIfErrorSeconds?: number;
  /** Told of every fetch, for logs and metrics. */
  onEvent?: (event: KeySourceEvent) => void;
  /** Now, in milliseconds, on a clock that does not run backwards. */
  now?: () => number;
}

export type KeySourceEvent =
  | { type: 'refreshed'; kids: string[]; ignored: number; changed: boolean }
  /** `ready` says whether older keys still serve. */
  | { type: 'refresh_failed'; reason: string; ready: boolean };

/** How the source stands, for readiness and metrics. */
export interface KeySourceStatus {
  /** Whether tokens can be verified: false before the first fetch succeeded and after the keys went too stale. */
  ready: boolean;
  /** Whether the keys are past their freshness, so that identity cannot be reached at present. */
  stale: boolean;
  kids: string[];
  lastFetchedAt: Date | undefined;
}

// Keys are renewed in the last fifth of their freshness, so that a busy service never meets a stale one.
const renewalShare = 0.8;
// How long after the end of their freshness keys serve without waiting for the renewal, which then runs beside.
const graceMs = 60_000;

/**
 * The key set of identity over HTTP (identity-service.md 2.7). Fresh for its `Cache-Control: max-age`, renewed in the
 * background, one fetch in flight for all waiters; used on while identity is down. An unknown kid fetches once a
 * cooldown, so that made-up kids cannot become a storm of requests.
 */
export class RemoteKeySource implements KeySource {
  readonly #client: JwksClient;
  readonly #unknownKidCooldownMs: number;
  readonly #failureCooldownMs: number;
  readonly #staleIfErrorMs: number;
  readonly #onEvent: (event: KeySourceEvent) => void;
  readonly #now: () => number;
  #held: HeldKeys | undefined;
  #inFlight: Promise<void> | undefined;
  #lastAttemptAt = Number.NEGATIVE_INFINITY;
  #lastAttemptFailed = false;
  #started = false;
  #timer: NodeJS.Timeout | undefined;

  /** Throws `TypeError` for an unusable `jwksUri`. Fetches nothing yet. */
  constructor(options: RemoteKeySourceOptions) {
    this.#client = new JwksClient({ jwksUri: options.jwksUri, timeoutMs: options.timeoutMs ?? 2_000 });
    this.#unknownKidCooldownMs = (options.unknownKidCooldownSeconds ?? 30) * 1000;
    this.#failureCooldownMs = (options.failureCooldownSeconds ?? 5) * 1000;
    this.#staleIfErrorMs = (options.staleIfErrorSeconds ?? 86_400) * 1000;
    this.#onEvent = options.onEvent ?? (() => undefined);
    this.#now = options.now ?? (() => performance.now());
  }

  /**
   * Fetches now and keeps the keys fresh from here on, without keeping the process alive. Resolves after the first
   * attempt; its failure is no error, since the next ones follow by themselves.
   */
  async start(): Promise<KeySourceStatus> {
    this.#started = true;
    await this.#refresh();
    return this.status();
  }

  /** Ends what `start` began. */
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

  find(kid: string): KeyObject | undefined | Promise<KeyObject | undefined> {
    const held = this.#usable();
    const key = held?.keys.get(kid);
    if (held === undefined || key === undefined) return this.#findAfterRefresh(kid);
    const ageMs = this.#ageOf(held);
    if (ageMs < held.maxAgeMs * renewalShare) return key;
    // After a long rest a withdrawn key may still be held, so this once the request waits; never during an outage.
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
    // The kid may be newer than what could be fetched: as long as identity is down, nobody knows.
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

  // Never rejects: the outcome is in the state, and in the event.
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
      const answer = await this.#client.fetch(this.#held?.etag);
      const held = holdKeys(this.#held, answer, this.#now());
      const changed = !isSameKeys(this.#held, held);
      this.#held = held;
      this.#lastAttemptFailed = false;
      this.#tell({
        type: 'refreshed',
        kids: [...held.keys.keys()],
        ignored: answer.keySet?.ignored ?? 0,
        changed,
      });
    } catch (error) {
      this.#lastAttemptFailed = true;
      const reason = error instanceof Error ? error.message : String(error);
      this.#tell({ type: 'refresh_failed', reason, ready: this.#usable() !== undefined });
    }
  }

  #scheduleNext(): void {
    clearTimeout(this.#timer);
    if (!this.#started) return;
    const freshMs = (this.#held?.maxAgeMs ?? 0) * renewalShare;
    const delayMs = this.#lastAttemptFailed ? this.#failureCooldownMs : freshMs;
    this.#timer = setTimeout(() => void this.#refresh(), delayMs).unref();
  }

  #tell(event: KeySourceEvent): void {
    try {
      this.#onEvent(event);
    } catch {
      // A listener's fault must not count as a fault of the keys.
    }
  }
}
