import { passwordMaxBytes } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import { isComparable } from './password-hasher.ts';

/** Words that are known to an attacker of this one account. */
export interface PasswordContext {
  email: string;
  username: string;
}

interface PasswordPolicyOptions {
  /** In code points (NIST SP 800-63B-4 3.1.1.2). */
  minLength: number;
  /** Lower-case passwords that are refused, or null where the blocklist is off. */
  blocklist: ReadonlySet<string> | null;
}

/** Length and, where it is on, the blocklist: no composition rules, no expiry (NIST SP 800-63B-4 3.1.1.2). */
export class PasswordPolicy {
  readonly #options: PasswordPolicyOptions;

  constructor(options: PasswordPolicyOptions) {
    this.#options = options;
  }

  /** Throws a 422 problem on `password`. */
  assertAcceptable(password: string, context: PasswordContext): void {
    const message = this.#objection(password, context);
    if (message !== undefined) throw validationProblem([{ field: 'password', message }]);
  }

  #objection(password: string, context: PasswordContext): string | undefined {
    const { minLength, blocklist } = this.#options;
    if (Array.from(password).length < minLength) return `must be at least ${minLength} characters`;
    if (!isComparable(password)) return `must be at most ${passwordMaxBytes} bytes in UTF-8`;
    if (blocklist === null) return undefined;
    const candidate = password.toLowerCase();
    const contextWords = ['tessera', context.username, context.email.split('@')[0] ?? '', context.email];
    const isContextWord = contextWords.some((word) => word !== '' && candidate === word.toLowerCase());
    return blocklist.has(candidate) || isContextWord ? 'is too common or too easy to guess' : undefined;
  }
}
