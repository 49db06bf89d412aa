import { setTimeout as sleep } from 'node:timers/promises';
import { type Logger, ProblemError, type RequestOrigin } from '@tessera/service-kit';
import { isOutage } from '../identity-mirror/identity-problem.ts';
import type { TokenClient } from './token-client.ts';
import type { TokenSealer } from './token-sealer.ts';
import { RefreshRefusedError, type TokenPair } from './token-transport.ts';
import type {
  ClaimedRefresh,
  SealedTokens,
  StoredSession,
  WebSessionRepository,
} from './web-session.repository.ts';
import { sessionEnded, sessionUnavailable } from './web-session-problem.ts';

/** Returns the client of the tokens of a session, which belong to an OAuth client, or to none. */
export type ClientOf = (clientId: string | null) => Pick<TokenClient, 'refresh' | 'revoke'>;

interface RefresherDependencies {
  repository: WebSessionRepository;
  clientOf: ClientOf;
  sealer: TokenSealer;
  logger: Logger;
  /** Called for each refresh of this process. */
  onRefresh: (outcome: Exclude<RefreshOutcome, 'busy'>) => void;
}

/** `busy`: another process refreshes. `ended`: identity has refused the refresh token. `failed`: identity is unavailable. */
type RefreshOutcome = 'refreshed' | 'busy' | 'ended' | 'failed';

const pollMs = 40;
const maxWaitMs = 3_000;
/** The time after a failed refresh in which no process repeats it. */
const pauseSeconds = 5;
const storeAttempts = 5;
const storePauseMs = 500;

/**
 * Refreshes the tokens of sessions. A refresh token can be used once, so one conditional UPDATE claims each refresh over all
 * processes. Requests use the old access token meanwhile, and wait only after it has expired.
 */
export class SessionRefresher {
  readonly #dependencies: RefresherDependencies;
  readonly #running = new Set<Promise<unknown>>();
  // Requests of one session share a wait, so that they do not poll the database each on their own.
  readonly #waits = new Map<string, Promise<StoredSession>>();

  constructor(dependencies: RefresherDependencies) {
    this.#dependencies = dependencies;
  }

  /** Resolves when no refresh is running, so that no refreshed token is lost at a shutdown. */
  async stop(): Promise<void> {
    await Promise.allSettled(this.#running);
  }

  seal({ accessToken, refreshToken, ...rest }: TokenPair, idHash: Uint8Array): SealedTokens {
    const { sealer } = this.#dependencies;
    return {
      accessToken: sealer.seal(accessToken, 'access', idHash),
      refreshToken: sealer.seal(refreshToken, 'refresh', idHash),
      ...rest,
    };
  }

  /** Refreshes the session in the background, unless another process does. */
  start(session: StoredSession, browser: RequestOrigin): Promise<RefreshOutcome> {
    const refresh = this.#refresh(session, browser).catch((error: unknown) => {
      this.#dependencies.logger.warn({ err: error, request_id: browser.requestId }, 'session not refreshed');
      return 'failed' as const;
    });
    this.#running.add(refresh);
    void refresh.then((outcome) => {
      this.#running.delete(refresh);
      if (outcome !== 'busy') this.#dependencies.onRefresh(outcome);
    });
    return refresh;
  }

  /** Waits until the session has a new access token. Throws 401 if it has ended, 503 if it cannot be refreshed in time. */
  await(session: StoredSession, browser: RequestOrigin): Promise<StoredSession> {
    const key = Buffer.from(session.idHash).toString('base64');
    const running = this.#waits.get(key);
    if (running !== undefined) return running;
    const wait = this.#wait(session, browser).finally(() => this.#waits.delete(key));
    this.#waits.set(key, wait);
    return wait;
  }

  async #wait(expired: StoredSession, browser: RequestOrigin): Promise<StoredSession> {
    const deadline = performance.now() + maxWaitMs;
    let session: StoredSession | undefined = expired;
    while (performance.now() < deadline) {
      if (session.isDue) {
        const outcome = await Promise.race([
          this.start(session, browser),
          sleep(deadline - performance.now(), 'busy' as const, { ref: false }),
        ]);
        if (outcome === 'failed') throw sessionUnavailable(pauseSeconds);
        if (outcome === 'ended') throw sessionEnded('refresh refused');
      } else if (session.isRefreshing) {
        await sleep(pollMs);
      } else {
        // A refresh has failed a moment ago.
        throw sessionUnavailable(pauseSeconds);
      }
      session = await this.#dependencies.repository.find(expired.idHash);
      if (session === undefined) throw sessionEnded('ended while a refresh was awaited');
      if (!session.isExpired) return session;
    }
    throw sessionUnavailable(1);
  }

  async #refresh(session: StoredSession, browser: RequestOrigin): Promise<RefreshOutcome> {
    const { repository, clientOf, sealer, logger } = this.#dependencies;
    const claimed = await repository.claimRefresh(session);
    if (claimed === undefined) return 'busy';
    const refreshToken = sealer.open(claimed.refreshToken, 'refresh', session.idHash);
    // Another replica may have the key, while SESSION_KEYS is being changed.
    if (refreshToken === undefined) {
      await repository.postponeRefresh(session, pauseSeconds);
      return 'failed';
    }
    let tokens: TokenPair;
    try {
      tokens = await clientOf(claimed.clientId).refresh(refreshToken, browser);
    } catch (error) {
      if (error instanceof RefreshRefusedError) {
        await repository.deleteRefused(session);
        logger.info(
          { request_id: browser.requestId, reason: error.message },
          'session ended: refresh refused',
        );
        return 'ended';
      }
      await repository.postponeRefresh(session, pauseSeconds);
      const cause = isOutage(error) || error instanceof ProblemError ? error.cause : error;
      logger.warn({ err: cause, request_id: browser.requestId }, 'session not refreshed; will be repeated');
      return 'failed';
    }
    await this.#store(claimed, this.seal(tokens, session.idHash));
    return 'refreshed';
  }

  // The old refresh token is used up: without the new one, the session is lost. A failover of the database takes seconds.
  async #store(claimed: ClaimedRefresh, tokens: SealedTokens): Promise<void> {
    const { repository } = this.#dependencies;
    for (let attempt = 1; ; attempt += 1) {
      try {
        await repository.storeRefresh(claimed, tokens);
        return;
      } catch (error) {
        if (attempt === storeAttempts) throw error;
        await sleep(storePauseMs);
      }
    }
  }
}
