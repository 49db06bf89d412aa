import { createHmac, hkdfSync } from 'node:crypto';
import { isIPv6 } from 'node:net';
import { ProblemError } from '@tessera/service-kit';

interface SignInLimitsOptions {
  enabled: boolean;
  /** Failures of one e-mail from one address. */
  pairLimit: number;
  /** Consecutive failures of one e-mail from addresses that it never signed in from. */
  emailLimit: number;
  /** Failures from one address. */
  ipLimit: number;
  /** How long failures of a pair and of an address count. */
  windowSeconds: number;
  /** Keys the HMACs, so that the table holds no e-mail and no address. The same on every replica. */
  secret: string;
}

/** The counters of one attempt, as keys of the database's table. */
export interface SignInKeys {
  pair: string;
  email: string;
  ip: string;
  /** Present when the e-mail has signed in from this address in the last 30 days. */
  known: string;
}

/** A counter as it stands: failures, and the seconds until they are forgotten. */
export interface SignInCounter {
  key: string;
  count: number;
  secondsLeft: number;
}

/** How long a counter or a mark lives, by the kind of its key. */
export interface CounterLifetimes {
  pair: number;
  email: number;
  ip: number;
  known: number;
}

const day = 86_400;

/**
 * Brute force is slowed where it comes from, and a victim is not locked out of a known address: NIST SP 800-63B-4
 * 3.2.2 (at most 100 consecutive failures), ASVS 6.1.1. Counted by the submitted e-mail, known or not, so that a
 * 429 tells nothing about who exists. A valid login is never counted.
 */
export class SignInLimits {
  readonly #options: SignInLimitsOptions;
  readonly #hmacKey: Buffer;
  readonly lifetimes: CounterLifetimes;

  constructor(options: SignInLimitsOptions) {
    this.#options = options;
    this.#hmacKey = Buffer.from(hkdfSync('sha256', options.secret, '', 'tessera sign-in counters', 32));
    this.lifetimes = { pair: options.windowSeconds, email: day, ip: options.windowSeconds, known: 30 * day };
  }

  keysFor(canonicalEmail: string, ip: string): SignInKeys {
    const network = networkOf(ip);
    return {
      pair: this.#key('pair', canonicalEmail, network),
      email: this.#key('email', canonicalEmail),
      ip: this.#key('ip', network),
      known: this.#key('known', canonicalEmail, network),
    };
  }

  /** Throws a 429 problem with `Retry-After`. */
  assertAllowed(keys: SignInKeys, counters: readonly SignInCounter[]): void {
    if (!this.#options.enabled) return;
    const byKey = new Map(counters.map((counter) => [counter.key, counter]));
    const { pairLimit, emailLimit, ipLimit } = this.#options;
    const exceeded = [
      [byKey.get(keys.pair), pairLimit] as const,
      [byKey.get(keys.ip), ipLimit] as const,
      [byKey.has(keys.known) ? undefined : byKey.get(keys.email), emailLimit] as const,
    ].flatMap(([counter, limit]) =>
      counter !== undefined && counter.count >= limit ? [counter.secondsLeft] : [],
    );
    if (exceeded.length === 0) return;
    throw new ProblemError({
      status: 429,
      code: 'too_many_requests',
      detail: 'Too many failed sign-ins; try again later.',
      headers: { 'Retry-After': String(Math.max(1, Math.ceil(Math.max(...exceeded)))) },
    });
  }

  /** Whether an attempt comes after failures, rather than with a clean record. */
  hasFailures(counters: readonly SignInCounter[]): boolean {
    return this.#options.enabled && counters.some((counter) => !counter.key.startsWith('known:'));
  }

  #key(purpose: keyof SignInKeys, ...parts: string[]): string {
    const digest = createHmac('sha256', this.#hmacKey)
      .update([purpose, ...parts].join('|'))
      .digest('base64url');
    return `${purpose}:${digest}`;
  }
}

// One subscriber holds a whole IPv6 /64.
function networkOf(ip: string): string {
  const address = ip.startsWith('::ffff:') && ip.includes('.') ? ip.slice('::ffff:'.length) : ip;
  if (!isIPv6(address)) return address;
  const [head = '', tail = ''] = address.split('%')[0]?.split('::') ?? [];
  const headGroups = head === '' ? [] : head.split(':');
  const tailGroups = tail === '' ? [] : tail.split(':');
  const missing = address.includes('::') ? 8 - headGroups.length - tailGroups.length : 0;
  const groups = [...headGroups, ...Array<string>(Math.max(0, missing)).fill('0'), ...tailGroups];
  return groups
    .slice(0, 4)
    .map((group) => Number.parseInt(group, 16).toString(16))
    .join(':');
}
