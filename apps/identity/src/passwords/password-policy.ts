import { passwordMaxBytes } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import { fitsBcrypt } from './password-hasher.ts';

/** Attributes of the account that are easy to guess and must not be its password. */
export interface PasswordContext {
  email: string;
  username: string;
}

interface PasswordPolicyOptions {
  /** Minimum length in code points (NIST SP 800-63B-4 3.1.1.2). */
  minLength: number;
  /** Refused passwords in lower case; null without a blocklist, in tests. */
  blocklist: ReadonlySet<string> | null;
}

/** Checks the length, the blocklist and the words of the account. No composition rules, no expiry (NIST SP 800-63B-4 3.1.1.2). */
export class PasswordPolicy {
  readonly #options: PasswordPolicyOptions;

  constructor(options: PasswordPolicyOptions) {
    this.#options = options;
  }

  /** Throws a 422 problem for the field. */
  assertAcceptable(password: string, context: PasswordContext, field = 'password'): void {
    const message = this.#findViolation(password, context);
    if (message !== undefined) throw validationProblem([{ field, message }]);
  }

  /** Throws a 422 problem if a person may not replace the current password by the next one. */
  assertNext({ current, next }: { current: string; next: string }, context: PasswordContext): void {
    this.assertAcceptable(next, context, 'new_password');
    if (next === current)
      throw validationProblem([{ field: 'new_password', message: 'must differ from the current password' }]);
  }

  #findViolation(password: string, context: PasswordContext): string | undefined {
    const { minLength, blocklist } = this.#options;
    if (Array.from(password).length < minLength) return `must be at least ${minLength} characters`;
    if (!fitsBcrypt(password)) return `must be at most ${passwordMaxBytes} bytes in UTF-8`;
    const candidate = password.toLowerCase();
    const contextWords = ['tessera', context.username, context.email.split('@')[0] ?? '', context.email];
    const isContextWord = contextWords.some((word) => word !== '' && candidate === word.toLowerCase());
    return blocklist?.has(candidate) || isContextWord ? 'is too common or too easy to guess' : undefined;
  }
}
