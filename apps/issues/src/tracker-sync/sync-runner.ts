import { type Logger, ProblemError } from '@tessera/service-kit';
import { abortAfter } from '../background/abort-after.ts';
import type { Actor } from '../issue-core/actor.ts';
import { assertMay } from '../issue-core/issue-access.ts';
import { assertFound, type IssueReference } from '../issue-core/issue-reference.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import type { IssueReader } from '../issue-store/read.ts';
import { TrackerError } from '../trackers/tracker-error.ts';
import { adviceFor, trackerNotConfigured, trackerProblem } from '../trackers/tracker-problem.ts';
import { LeaseLostError, type SyncJob } from './sync-lease.repository.ts';
import { type SyncCollaborators, SyncRun } from './sync-run.ts';

/** POST /api/v1/issues/{id}/sync/ (docs/spec/issue-tracking.md 4). */
export class SyncService {
  readonly #reader: IssueReader;
  readonly #runner: SyncRunner | undefined;

  /** `runner`: undefined if no tracker is configured. */
  constructor({ reader, runner }: { reader: IssueReader; runner: SyncRunner | undefined }) {
    this.#reader = reader;
    this.#runner = runner;
  }

  async sync(actor: Actor, reference: IssueReference, requestId: string) {
    const issue = assertFound(await this.#reader.findState(reference));
    assertMay(actor, 'sync', issue);
    if (this.#runner === undefined || issue.projectId !== defaultProjectId) throw trackerNotConfigured();
    await this.#runner.syncNow(issue.id, actor.id, requestId);
    return assertFound(await this.#reader.find({ id: issue.id, scope: reference.scope }));
  }
}

export function syncInProgress(): ProblemError {
  return new ProblemError({
    status: 409,
    code: 'sync_in_progress',
    detail: 'Another sync of this issue is running.',
    headers: { 'Retry-After': '1' },
  });
}

interface SyncRunnerOptions {
  /** Time limit of a sync during a request, in milliseconds. */
  deadlineMs: number;
  /** Delay before the first retry in the background, in seconds. */
  retrySeconds: number;
  /** Called with `synced` or the error code of each sync. */
  onEnded: (outcome: string) => void;
  logger: Logger;
}

interface FailedRun {
  error: TrackerError;
  /** Time of the next background retry; null if the sync is not retried. */
  nextAttemptAt: Date | null;
}

/** Errors whose cause `findProblem` may find. */
const explainedCodes = new Set<string>([
  'not_a_member',
  'tracker_rejected',
  'remote_gone',
  'project_not_found',
]);

/** Runs syncs of leased issues, and records their failures. */
export class SyncRunner {
  readonly #collaborators: SyncCollaborators;
  readonly #options: SyncRunnerOptions;
  readonly #stopping = new AbortController();
  readonly #running = new Set<Promise<unknown>>();
  #credentialsRejected = false;

  constructor(collaborators: SyncCollaborators, options: SyncRunnerOptions) {
    this.#collaborators = collaborators;
    this.#options = options;
  }

  /** Whether the tracker rejected our credentials in the last sync. */
  get credentialsRejected(): boolean {
    return this.#credentialsRejected;
  }

  /**
   * Syncs an issue during a request. If several calls run concurrently, one syncs and the others throw
   * `sync_in_progress`.
   */
  async syncNow(issueId: string, requestedBy: string, requestId: string): Promise<void> {
    const { deadlineMs } = this.#options;
    const job = await this.#collaborators.leases.take(issueId, requestedBy, deadlineMs);
    if (job === undefined) throw syncInProgress();
    const failed = await this.run(job, requestId, deadlineMs, { isRequested: true });
    if (failed !== undefined) throw trackerProblem(failed.error, failed.nextAttemptAt);
  }

  /**
   * Syncs a leased issue within `timeoutMs` and records the result. A sync that a user has requested finds comments whose
   * publication does not change the remote issue, with one more request.
   */
  async run(
    job: SyncJob,
    requestId: string,
    timeoutMs: number,
    { isRequested = false } = {},
  ): Promise<FailedRun | undefined> {
    const { onEnded } = this.#options;
    const signal = abortAfter(timeoutMs, this.#stopping.signal);
    const readsComments = isRequested && this.#collaborators.tracker.publishesLate;
    const run = new SyncRun(this.#collaborators, { job, requestId, signal, readsComments })
      .complete()
      .then(() => this.#succeed())
      .catch((error) => this.#fail(job, error, requestId));
    this.#running.add(run);
    try {
      const failed = await run;
      onEnded(failed === undefined ? 'synced' : failed.error.code);
      return failed;
    } catch (error) {
      onEnded('sync_failed');
      throw error;
    } finally {
      this.#running.delete(run);
    }
  }

  /** Aborts running syncs, and waits until they have ended their leases. */
  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.allSettled(this.#running);
  }

  #succeed(): undefined {
    this.#credentialsRejected = false;
  }

  // Trackers report a wrong project, a missing permission and disabled issues with the same status codes as other
  // errors.
  async #explain(error: unknown): Promise<unknown> {
    if (!(error instanceof TrackerError) || !explainedCodes.has(error.code)) return error;
    const signal = abortAfter(this.#options.deadlineMs, this.#stopping.signal);
    return (await this.#collaborators.tracker.findProblem(signal).catch(() => undefined)) ?? error;
  }

  async #fail(job: SyncJob, cause: unknown, requestId: string): Promise<FailedRun> {
    const error = await this.#explain(cause);
    const { leases } = this.#collaborators;
    const { retrySeconds: firstDelaySeconds, logger } = this.#options;
    const { issueId } = job;
    if (!(error instanceof TrackerError)) {
      logger.error({ err: error, issueId, requestId }, 'sync failed with an internal error');
      // If the database fails again, the lease expires.
      const retry = { firstDelaySeconds, minSeconds: 0, isPostponed: false };
      await leases
        .fail(job, { code: 'sync_failed', movedTo: null, retry })
        .catch((err: unknown) => logger.warn({ err, issueId }, 'could not record a failed sync'));
      throw error;
    }
    const {
      code,
      message,
      messages,
      isTransient,
      isPostponed,
      retryAfterSeconds: minSeconds = 0,
      location: movedTo,
    } = error;
    logger.warn(
      { issueId, requestId, code, reason: message, messages, advice: adviceFor(code) },
      'sync failed',
    );
    // Another process has leased the issue since.
    if (error instanceof LeaseLostError) return { error, nextAttemptAt: new Date() };
    if (this.#stopping.signal.aborted) {
      await leases.release(job, { isDue: true });
      return { error, nextAttemptAt: new Date() };
    }
    this.#credentialsRejected = code === 'tracker_auth_failed';
    const retry = isTransient ? { firstDelaySeconds, minSeconds, isPostponed } : null;
    return { error, nextAttemptAt: await leases.fail(job, { code, messages, movedTo, retry }) };
  }
}
