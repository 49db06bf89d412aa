import { randomUUID } from 'node:crypto';
import { canonicalEmail, type TokenResponse } from '@tessera/contracts';
import {
  type Logger,
  networkOf,
  type OutcomeCounter,
  type RequestOrigin,
  unavailableProblem,
} from '@tessera/service-kit';
import { invalidGrantProblem, temporaryPasswordProblem } from '../oauth.ts';
import type { PasswordChangeService } from '../passwords/password-change.service.ts';
import type { PasswordHasher } from '../passwords/password-hasher.ts';
import type { IdentityQuota } from '../rate-limit/identity-quota.ts';
import type { TokenIssuer } from '../tokens/token-issuer.ts';
import type { SignInAddress, SignInCandidate, SignInRepository } from './sign-in.repository.ts';
import type { SignInKeys, SignInLimits } from './sign-in-limits.ts';

export type SignInOutcome = 'success' | 'refused' | 'limited' | 'unavailable' | 'client_gone' | 'error';

interface SignInDependencies {
  repository: SignInRepository;
  limits: SignInLimits;
  passwordChanges: Pick<PasswordChangeService, 'replaceTemporary'>;
  /** Limits new sessions. Only successful sign-ins count, so only the password's owner can exhaust the quota. */
  quota: IdentityQuota;
  hasher: PasswordHasher;
  issuer: TokenIssuer;
  refreshIdleTtlSeconds: number;
  refreshAbsoluteTtlSeconds: number;
  logger: Logger;
  outcomes: OutcomeCounter<SignInOutcome>;
}

export interface Credentials {
  email: string;
  password: string;
  /** Replaces a temporary password. */
  newPassword?: string | undefined;
}

/**
 * Sign-ins with a password: the password grant (docs/spec/identity-service.md 4.1.1), and those of the pages. Every 401 for a wrong address or password has the same body and takes
 * the same time.
 */
export class SignInService {
  readonly #dependencies: SignInDependencies;
  #knowsCosts = false;

  constructor(dependencies: SignInDependencies) {
    this.#dependencies = dependencies;
  }

  /** Opens a token family. */
  signIn(credentials: Credentials, origin: RequestOrigin, signal: AbortSignal): Promise<TokenResponse> {
    return this.signInWith(credentials, origin, signal, (candidate, address) =>
      this.#openSession(candidate, address, origin),
    );
  }

  /**
   * Verifies the password and lets the caller open a session. `open` returns undefined if the sessions of the identity have ended,
   * or it was deactivated, since the candidate was read.
   */
  signInWith<Result>(
    credentials: Credentials,
    origin: RequestOrigin,
    signal: AbortSignal,
    open: (candidate: SignInCandidate, address: SignInAddress) => Promise<Result | undefined>,
  ): Promise<Result> {
    return this.#dependencies.outcomes.count(this.#signInWith(credentials, origin, signal, open));
  }

  async #signInWith<Result>(
    credentials: Credentials,
    origin: RequestOrigin,
    signal: AbortSignal,
    open: (candidate: SignInCandidate, address: SignInAddress) => Promise<Result | undefined>,
  ): Promise<Result> {
    const address = canonicalEmail(credentials.email);
    const keys = this.#dependencies.limits.keysFor(address, origin.ip);
    // If all sessions end meanwhile, the password may be another one now, so it is compared once more.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      const verified = await this.#verify(credentials, keys, { address, origin, signal });
      const candidate = await this.#withOwnPassword(verified, credentials, origin, signal);
      if (candidate === undefined) continue;
      const { known: knownSeconds } = this.#dependencies.limits.lifetimes;
      const opened = await open(candidate, { keys, knownSeconds });
      if (opened !== undefined) return opened;
    }
    throw unavailableProblem('The sessions of this identity are being ended. Try again.', 1);
  }

  /** Returns the identity if the password is that of the address. */
  async #verify(
    { password }: Credentials,
    keys: SignInKeys,
    { address, origin, signal }: { address: string; origin: RequestOrigin; signal: AbortSignal },
  ): Promise<SignInCandidate> {
    const { repository, limits, quota, hasher } = this.#dependencies;
    const { candidate, counters } = await repository.findCandidate(address, keys);
    limits.assertAllowed(keys, counters);
    if (candidate !== null) await quota.assertAvailable(candidate.id);
    await this.#learnCosts();
    const hash = candidate?.isActive === true ? candidate.passwordHash : null;
    const matches = await hasher.matches(password, {
      hash,
      client: { address: networkOf(origin.ip), account: address },
      signal,
      // Parallel guesses all read the counters before the first failure is recorded, so queued attempts read them
      // again. A failure is recorded before its slot is released: at most the limit plus the parallel jobs are compared.
      beforeCompare: async (waited) => {
        if (waited || limits.hasFailures(counters))
          limits.assertAllowed(keys, await repository.findCounters(keys));
        if (waited && candidate !== null) await quota.assertAvailable(candidate.id);
      },
      onMismatch: () =>
        repository.recordFailure(keys, limits.lifetimes, { identityId: candidate?.id ?? null, origin }),
    });
    if (candidate === null || hash === null || !matches) throw invalidCredentials();
    await quota.count(candidate.id);
    await this.#upgradeHash(candidate.id, password, hash, origin);
    return candidate;
  }

  /** Lets a person with a temporary password choose another one. Returns undefined if the password has changed meanwhile. */
  async #withOwnPassword(
    candidate: SignInCandidate,
    { password, newPassword }: Credentials,
    origin: RequestOrigin,
    signal: AbortSignal,
  ): Promise<SignInCandidate | undefined> {
    const { temporaryPassword, sessionEpoch } = candidate;
    if (temporaryPassword === null) return candidate;
    if (temporaryPassword === 'expired') throw passwordExpired();
    if (newPassword === undefined) throw passwordChangeRequired();
    const passwords = { current: password, next: newPassword };
    const isChanged = await this.#dependencies.passwordChanges.replaceTemporary(
      candidate,
      passwords,
      origin,
      signal,
    );
    // The change has ended all sessions.
    return isChanged ? { ...candidate, sessionEpoch: sessionEpoch + 1 } : undefined;
  }

  // Otherwise the duration of the first refusals would reveal accounts whose hashes have a higher cost than configured.
  async #learnCosts(): Promise<void> {
    if (this.#knowsCosts) return;
    const { repository, hasher } = this.#dependencies;
    hasher.expectCost(await repository.findHighestCost());
    this.#knowsCosts = true;
  }

  /** Returns undefined if the sessions of the identity have ended, or it was deactivated, since the candidate was read. */
  async #openSession(
    candidate: SignInCandidate,
    address: SignInAddress,
    origin: RequestOrigin,
  ): Promise<TokenResponse | undefined> {
    const { repository, issuer, refreshIdleTtlSeconds, refreshAbsoluteTtlSeconds } = this.#dependencies;
    const issuedAt = Math.floor(Date.now() / 1000);
    const expiresAt = issuedAt + Math.min(refreshIdleTtlSeconds, refreshAbsoluteTtlSeconds);
    const jti = randomUUID();
    const family = {
      familyId: randomUUID(),
      jti,
      identityId: candidate.id,
      sessionEpoch: candidate.sessionEpoch,
      refreshExpiresAt: new Date(expiresAt * 1000),
      familyExpiresAt: new Date((issuedAt + refreshAbsoluteTtlSeconds) * 1000),
    };
    const [subject, refreshToken] = await Promise.all([
      repository.openSession(family, address, origin),
      issuer.signRefreshToken({ subjectId: candidate.id, jti, issuedAt, expiresAt }),
    ]);
    if (subject === undefined) return undefined;
    return issuer.present(await issuer.signAccessToken(subject, issuedAt), refreshToken);
  }

  // A failed upgrade must not fail the sign-in. The next sign-in tries again.
  async #upgradeHash(
    identityId: string,
    password: string,
    hash: string,
    origin: RequestOrigin,
  ): Promise<void> {
    const { hasher, repository, logger } = this.#dependencies;
    if (!hasher.isOutdated(hash)) return;
    try {
      await repository.upgradeHash(identityId, hash, await hasher.hash(password), origin);
    } catch (error) {
      logger.warn({ err: error, request_id: origin.requestId }, 'password hash not upgraded');
    }
  }
}

function passwordChangeRequired() {
  return temporaryPasswordProblem(
    'password_change_required',
    'The password is temporary. Choose another one: send it as new_password.',
  );
}

function passwordExpired() {
  return temporaryPasswordProblem(
    'password_expired',
    'The temporary password has expired. Ask an administrator for a new one; on an installation of npx pnpm@12 start, run npx pnpm@12 reset-password.',
  );
}

function invalidCredentials() {
  return invalidGrantProblem('Invalid email or password.');
}
