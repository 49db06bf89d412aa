import type { Integration, IntegrationCheck, RetriedSyncs, RetrySyncs } from '@tessera/contracts';
import type { Logger } from '@tessera/service-kit';
import { abortAfter } from '../background/abort-after.ts';
import type { ExternalTracker } from '../trackers/external-tracker.ts';
import type { TrackerConfig } from '../trackers/tracker-config.ts';
import { TrackerError, type TrackerErrorCode } from '../trackers/tracker-error.ts';
import { adviceFor, trackerNotConfigured } from '../trackers/tracker-problem.ts';
import type { SyncQueueRepository } from './sync-queue.repository.ts';

interface ConfiguredIntegration {
  config: Pick<TrackerConfig, 'provider' | 'url' | 'project'>;
  tracker: Pick<ExternalTracker, 'findProblem' | 'checkSettings'>;
  queue: SyncQueueRepository;
  /** Time limit of a check. */
  deadlineMs: number;
  logger: Logger;
}

type Step = 'reachable' | 'credentials' | 'project' | 'permissions';

/** The checks that must succeed, in this order, before the settings are checked. */
const steps: readonly Step[] = ['reachable', 'credentials', 'project', 'permissions'];

/** The step that each error fails. All other errors fail the step `project`. */
const stepOf: Partial<Record<TrackerErrorCode, Step>> = {
  tracker_unavailable: 'reachable',
  tracker_timeout: 'reachable',
  tracker_rate_limited: 'reachable',
  remote_too_large: 'reachable',
  tracker_auth_failed: 'credentials',
  rest_api_disabled: 'credentials',
  not_a_member: 'permissions',
};

/**
 * How long a result is cached. A check sends about ten requests to the tracker, so this limits the load that clients
 * can cause.
 */
const checkLifetimeMs = 15_000;

/** Checks the configured tracker and retries its failed syncs. Only for staff. */
export class IntegrationService {
  readonly #integration: ConfiguredIntegration | undefined;
  #latest: { startedAt: number; result: Promise<Integration> } | undefined;

  /** `integration`: undefined if no tracker is configured. */
  constructor(integration: ConfiguredIntegration | undefined) {
    this.#integration = integration;
  }

  /** Checks whether syncs can work and how to correct problems, at most once in 15 seconds. Logs the result. */
  async list(): Promise<Integration[]> {
    if (this.#integration === undefined) return [];
    const now = performance.now();
    if (this.#latest === undefined || now - this.#latest.startedAt >= checkLifetimeMs) {
      this.#latest = { startedAt: now, result: check(this.#integration) };
    }
    return [await this.#latest.result];
  }

  /** Makes issues due whose sync matches a filter. */
  async retrySyncs(filter: RetrySyncs): Promise<RetriedSyncs> {
    if (this.#integration === undefined) throw trackerNotConfigured();
    return this.#integration.queue.addMatching(filter);
  }
}

async function check({
  config: { provider, url, project },
  tracker,
  queue,
  deadlineMs,
  logger,
}: ConfiguredIntegration): Promise<Integration> {
  const checks = await runChecks(tracker, abortAfter(deadlineMs));
  const failed = checks.filter(({ status }) => status === 'failed');
  for (const { name, detail, reason, messages } of failed)
    logger.warn({ provider, url, project, check: name, reason, messages }, `external tracker: ${detail}`);
  if (failed.length === 0) logger.info({ provider, url, project }, 'the external tracker can be synced with');
  const state = failed.length === 0 ? 'ok' : 'failed';
  const failed_syncs = (await queue.countStuck()).map(({ error, count }) => ({
    last_error: error,
    count,
    detail: adviceFor(error),
  }));
  return { provider, url, project, state, checked_at: new Date().toISOString(), checks, failed_syncs };
}

async function runChecks(
  tracker: ConfiguredIntegration['tracker'],
  signal: AbortSignal,
): Promise<IntegrationCheck[]> {
  const problem = await tracker.findProblem(signal).catch(asTrackerError);
  if (problem !== undefined) return checksUntil(problem);
  const settings = await tracker.checkSettings(signal).catch(asTrackerError);
  if (settings instanceof TrackerError) return checksUntil(settings);
  return [
    ...steps.filter((name) => name !== 'permissions').map(passed),
    ...settings.map(({ name, problem: detail, messages = [] }): IntegrationCheck => {
      if (detail === null) return passed(name);
      return { name, status: 'failed', detail, reason: null, messages: [...messages] };
    }),
  ];
}

function asTrackerError(error: unknown): TrackerError {
  if (error instanceof TrackerError) return error;
  throw error;
}

// The steps after the failed step cannot be checked.
function checksUntil(error: TrackerError): IntegrationCheck[] {
  const failed = stepOf[error.code] ?? 'project';
  const place = steps.indexOf(failed);
  return steps.map((name, index) => {
    if (index < place) return passed(name);
    if (index > place) return { ...passed(name), status: 'skipped' };
    const { message: reason, messages } = error;
    return { name, status: 'failed', detail: adviceOn(error), reason, messages: [...messages] };
  });
}

// A refusal of a check concerns the configuration, not an issue.
function adviceOn({ code, detail }: TrackerError): string {
  if (detail !== undefined) return detail;
  return code === 'tracker_rejected'
    ? 'The tracker refuses the request for the project: correct TRACKER_URL or TRACKER_PROJECT.'
    : adviceFor(code);
}

function passed(name: IntegrationCheck['name']): IntegrationCheck {
  return { name, status: 'ok', detail: null, reason: null, messages: [] };
}
