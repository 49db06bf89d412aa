import { networkOf, ProblemError, type RequestOrigin, validationProblem } from '@tessera/service-kit';
import { identityNotFoundProblem } from '../identity-not-found.ts';
import type { PasswordChangeRepository } from './password-change.repository.ts';
import type { PasswordHasher } from './password-hasher.ts';
import type { PasswordContext, PasswordPolicy } from './password-policy.ts';

interface PasswordChangeDependencies {
  repository: PasswordChangeRepository;
  hasher: PasswordHasher;
  passwordPolicy: PasswordPolicy;
  limits: {
    enabled: boolean;
    /** Maximum number of attempts in a window. A successful attempt resets the count. */
    pairLimit: number;
    windowSeconds: number;
  };
}

/** Changes a password on request of a person who knows the current password. */
export class PasswordChangeService {
  readonly #dependencies: PasswordChangeDependencies;

  constructor(dependencies: PasswordChangeDependencies) {
    this.#dependencies = dependencies;
  }

  /** Changes the password and ends every session of the identity (ASVS 7.4.3). */
  async change(
    id: string,
    { current, next }: { current: string; next: string },
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<void> {
    const { repository, hasher, passwordPolicy } = this.#dependencies;
    const account = await repository.find(id);
    if (account === undefined) throw identityNotFoundProblem();
    // Says nothing about the stored password.
    passwordPolicy.assertNext({ current, next }, account);
    await this.#countAttempt(id);
    const matches = await hasher.matches(current, {
      hash: account.passwordHash,
      client: { address: networkOf(origin.ip), account: id },
      signal,
      beforeCompare: async () => undefined,
      onMismatch: () => repository.recordRefusal(id, origin),
    });
    if (!matches) throw wrongPassword();
    const passwordHash = await hasher.hash(next, signal);
    const changed = await repository.change({ id, passwordHash, sessionEpoch: account.sessionEpoch }, origin);
    if (!changed) throw wrongPassword();
  }

  /** Replaces a temporary password that has just been verified. Returns false if it has changed since. */
  async replaceTemporary(
    account: PasswordContext & { id: string; sessionEpoch: number },
    passwords: { current: string; next: string },
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<boolean> {
    const { repository, hasher, passwordPolicy } = this.#dependencies;
    passwordPolicy.assertNext(passwords, account);
    const { id, sessionEpoch } = account;
    const passwordHash = await hasher.hash(passwords.next, signal);
    return repository.change({ id, passwordHash, sessionEpoch }, origin);
  }

  // Counted before the comparison, so that parallel guesses cannot exceed the limit.
  async #countAttempt(id: string): Promise<void> {
    const { repository, limits } = this.#dependencies;
    if (!limits.enabled) return;
    const { count, secondsLeft } = await repository.countAttempt(id, limits.windowSeconds);
    if (count <= limits.pairLimit) return;
    const seconds = Math.max(1, Math.ceil(secondsLeft));
    throw new ProblemError({
      status: 429,
      code: 'too_many_requests',
      detail: `Too many attempts with a wrong password. Try again in ${seconds} seconds.`,
      headers: { 'Retry-After': String(seconds) },
    });
  }
}

function wrongPassword(): ProblemError {
  return validationProblem([{ field: 'current_password', message: 'is not the current password' }]);
}
