import type { Logger, Metrics } from '@tessera/service-kit';
import type { Leases } from '../background/leases.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database.ts';
import type { EventSignal } from '../events/event-signal.ts';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import type { IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';
import type { LabelService } from '../labels/label.service.ts';
import { GiteaTracker } from '../trackers/gitea.tracker.ts';
import { GitHubTracker } from '../trackers/github.tracker.ts';
import { GitLabTracker } from '../trackers/gitlab.tracker.ts';
import { RedmineTracker } from '../trackers/redmine.tracker.ts';
import { TrackerClock } from '../trackers/tracker-clock.ts';
import { ImportRepository } from './import.repository.ts';
import { ImportService } from './import.service.ts';
import { IntegrationService } from './integration.service.ts';
import { RemotePollRepository } from './remote-poll.repository.ts';
import { SyncRepository } from './sync.repository.ts';
import { SyncBindingService } from './sync-binding.service.ts';
import { SyncCommentRepository } from './sync-comment.repository.ts';
import { SyncLeaseRepository } from './sync-lease.repository.ts';
import { SyncQueueRepository } from './sync-queue.repository.ts';
import { SyncRunner, SyncService } from './sync-runner.ts';
import { SyncScheduler } from './sync-scheduler.ts';
import { TrackerWebhooks } from './tracker-webhook.ts';

const trackers = {
  redmine: RedmineTracker,
  github: GitHubTracker,
  gitlab: GitLabTracker,
  gitea: GiteaTracker,
};

interface TrackingCollaborators {
  main: Database;
  leases: Leases;
  people: IdentityMirrorService;
  metrics: Metrics;
  eventSignal: EventSignal;
  reader: IssueReader;
  writer: IssueWriter;
  labels: LabelService;
}

/** Creates everything that syncs issues with the configured tracker, if there is one. */
export function createTracking(
  { tracking, publicBaseUrl }: Config,
  logger: Logger,
  collaborators: TrackingCollaborators,
) {
  const { main, leases, people, metrics, eventSignal, reader, writer, labels } = collaborators;
  if (tracking === undefined) {
    observeSyncs(metrics, undefined);
    return {
      sync: new SyncService({ reader, runner: undefined }),
      bindings: new SyncBindingService({ reader, writer, tracking: undefined }),
      trackerWebhooks: new TrackerWebhooks(undefined),
      integration: new IntegrationService(undefined),
      imports: new ImportService(undefined),
      scheduler: undefined,
      runner: undefined,
    };
  }
  const { policies, deadlineMs, retrySeconds, schedule, webhookSecret: secret, fingerprint } = tracking;
  const { provider, project } = tracking.tracker;
  const identity = { provider, project };
  const repository = new SyncRepository(main, identity);
  const syncLeases = new SyncLeaseRepository(main, { ...identity, fingerprint }, leases);
  const queue = new SyncQueueRepository(main, { ...identity, fingerprint }, leases);
  const recordOutcome = observeSyncs(metrics, queue);
  const clock = new TrackerClock();
  const tracker = new trackers[provider](tracking.tracker, { logger, limit: queue, clock });
  // By the id: the key changes when the issue moves to another project.
  const pageOf = (issueId: string) => `${publicBaseUrl}/issues/${issueId}`;
  const comments = new SyncCommentRepository(main, { tracker: identity, writer });
  const runner = new SyncRunner(
    { tracker, leases: syncLeases, repository, comments, reader, writer, labels, policies, pageOf },
    {
      deadlineMs,
      retrySeconds,
      onEnded: (outcome) => {
        recordOutcome(outcome);
        eventSignal.written();
      },
      logger,
    },
  );
  const imports = new ImportService({
    tracker,
    repository: new ImportRepository(main, identity, leases),
    people,
    assignees: tracking.assignees,
    deadlineMs,
    retrySeconds,
    logger,
  });
  return {
    sync: new SyncService({ reader, runner }),
    bindings: new SyncBindingService({
      reader,
      writer,
      tracking: { tracker, leases: syncLeases, repository, deadlineMs, pageOf },
    }),
    trackerWebhooks: new TrackerWebhooks(
      secret === undefined ? undefined : { provider, project, secret, queue },
    ),
    integration: new IntegrationService({ config: tracking.tracker, tracker, queue, deadlineMs, logger }),
    imports,
    scheduler: new SyncScheduler(
      { tracker, clock, queue, polls: new RemotePollRepository(main, identity), runner, imports, logger },
      schedule,
    ),
    runner,
  };
}

/**
 * Registers the metrics of syncs, also if no tracker is configured. Returns the function that counts the outcome of a
 * sync.
 */
function observeSyncs(metrics: Metrics, queue: SyncQueueRepository | undefined): (outcome: string) => void {
  const syncs = metrics.counter('issues_syncs_total', 'Syncs with the external tracker, by outcome.', [
    'outcome',
  ]);
  const stuck = metrics.gauge(
    'issues_syncs_stuck',
    'Issues whose sync failed and has no retry scheduled, by error.',
    ['error'],
    async () => {
      const counts = (await queue?.countStuck()) ?? [];
      stuck.reset();
      for (const { error, count } of counts) stuck.set({ error }, count);
    },
  );
  return (outcome) => syncs.inc({ outcome });
}
