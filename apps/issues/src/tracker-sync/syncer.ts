import type { Logger } from '@tessera/service-kit';
import { TrackerError } from '../trackers/tracker-error.ts';
import { ClaimLostError, type SyncRepository } from './sync.repository.ts';
import { backoff, retryDelay } from './sync-retry.ts';
import type { SyncRun } from './sync-run.ts';
import type { TrackerLink } from './tracker-link.ts';

interface SyncerDependencies {
  repository: SyncRepository;
  run: Pick<SyncRun, 'sync'>;
  /** How long a sync that failed for the first time waits before it is tried again. */
  retrySeconds: number;
  /** Told how each sync ended: `synced`, or the code of its failure. */
  onEnded?: (outcome: string) => void;
  logger: Logger;
}

/** What came of a sync: undefined where it succeeded. */
export interface SyncFailure {
  error: TrackerError;
  nextAttemptAt: Date | null;
}

/** Carries out syncs that have been claimed, within their time, and writes down how they ended. */
export class Syncer {
  readonly #dependencies: SyncerDependencies;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #credentialsRefused = false;

  constructor(dependencies: SyncerDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether the tracker refused our credentials when it was last asked. */
  get credentialsRefused(): boolean {
    return this.#credentialsRefused;
  }

  /** Syncs a claimed issue within a time in milliseconds. */
  async sync(link: TrackerLink, requestId: string, timeoutMs: number): Promise<SyncFailure | undefined> {
    const outcome = this.#sync(link, requestId, timeoutMs);
    this.#running.add(outcome);
    const { onEnded } = this.#dependencies;
    try {
      const failure = await outcome;
      onEnded?.(failure === undefined ? 'synced' : failure.error.code);
      return failure;
    } catch (error) {
      onEnded?.('sync_failed');
      throw error;
    } finally {
      this.#running.delete(outcome);
    }
  }

  /** Cuts off what is running, waits until it has given its claims back. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#running);
  }

  async #sync(link: TrackerLink, requestId: string, timeoutMs: number): Promise<SyncFailure | undefined> {
    const { repository, run, retrySeconds: firstDelaySeconds, logger } = this.#dependencies;
    const signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), this.#stopping.signal]);
    try {
      await run.sync(link, requestId, signal);
      this.#credentialsRefused = false;
      return undefined;
    } catch (error) {
      if (!(error instanceof TrackerError)) {
        await this.#giveUp(link, error);
        throw error;
      }
      const { code, message } = error;
      logger.warn({ issueId: link.issueId, requestId, code, reason: message }, 'sync failed');
      if (error instanceof ClaimLostError) return { error, nextAttemptAt: null };
      if (this.#stopping.signal.aborted) {
        await repository.release(link, { isDue: true });
        return { error, nextAttemptAt: new Date() };
      }
      this.#credentialsRefused = code === 'tracker_auth_failed';
      const retryInSeconds = retryDelay(error, { failures: link.failures, firstDelaySeconds });
      const ended = { code, movedTo: error.location, retryInSeconds };
      const nextAttemptAt = await repository.fail(link, ended);
      return { error, nextAttemptAt };
    }
  }

  // A fault of ours, or of the database: it shows in the issue, and is tried again with the same patience. Where even
  // that cannot be written, the claim ends by itself.
  async #giveUp(link: TrackerLink, cause: unknown): Promise<void> {
    const { repository, logger } = this.#dependencies;
    const { issueId, failures } = link;
    logger.error({ err: cause, issueId }, 'sync broke off');
    const retryInSeconds = backoff({ failures, firstDelaySeconds: this.#dependencies.retrySeconds });
    await repository
      .fail(link, { code: 'sync_failed', movedTo: null, retryInSeconds })
      .catch((error: unknown) => logger.warn({ err: error, issueId }, 'its end could not be written'));
  }
}
