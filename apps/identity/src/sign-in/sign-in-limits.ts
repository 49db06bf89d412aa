import { createHmac, hkdfSync } from 'node:crypto';
import { networkOf, ProblemError } from '@tessera/service-kit';

interface SignInLimitsOptions {
  enabled: boolean;
  /** Failures for one e-mail from one address. */
  pairLimit: number;
  /** Consecutive failures for one e-mail, enforced for addresses without a recent successful sign-in. */
  emailLimit: number;
  /** Failures from one address. */
  ipLimit: number;
  /** Length of the window for `pairLimit` and `ipLimit`. */
  windowSeconds: number;
  /** Key of the HMACs that replace e-mails and addresses in the table. Must be the same on every replica. */
  secret: string;
}

/** The keys of an attempt's counters in `sign_in_counters`. */
export interface SignInKeys {
  pair: string;
  email: string;
  ip: string;
  /** Its row exists if the e-mail has signed in from this address in the last 30 days. */
  known: string;
}

/** Failures in the current window, and the seconds until it ends. */
export interface SignInCounter {
  key: string;
  count: number;
  secondsLeft: number;
}

/** Lifetime of a row in seconds, by the kind of its key. */
export interface CounterLifetimes {
  pair: number;
  email: number;
  ip: number;
  known: number;
}

const day = 86_400;

/**
 * Limits failed sign-ins per address and per e-mail (NIST SP 800-63B-4 3.2.2: at most 100 consecutive failures; ASVS
 * 6.1.1). The e-mail limit does not apply to known addresses, so an attacker cannot lock out the account's owner.
 * Unknown e-mails count as well, so a 429 does not reveal whether an account exists. Successful sign-ins do not count.
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

  /** Throws a 429 problem with `Retry-After` if a limit is reached. */
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
    const seconds = Math.max(1, Math.ceil(Math.max(...exceeded)));
    throw new ProblemError({
      status: 429,
      code: 'too_many_requests',
      detail: `Too many failed sign-ins. Try again in ${seconds} seconds.`,
      headers: { 'Retry-After': String(seconds) },
    });
  }

  /** Whether earlier failures count against this attempt. */
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
