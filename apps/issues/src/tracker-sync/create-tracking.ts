import type { Logger, Metrics } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import type { IssueStatusRepository } from '../issue-status/issue-status.repository.ts';
import type { IssueStatusService } from '../issue-status/issue-status.service.ts';
import type { IssueRepository } from '../issues/issue.repository.ts';
import type { ExternalTracker } from '../trackers/external-tracker.ts';
import { GiteaTracker } from '../trackers/gitea.tracker.ts';
import { GitHubTracker } from '../trackers/github.tracker.ts';
import { GitLabTracker } from '../trackers/gitlab.tracker.ts';
import { RedmineTracker } from '../trackers/redmine.tracker.ts';
import { SyncRepository } from './sync.repository.ts';
import { SyncService } from './sync.service.ts';
import { SyncBindingRepository } from './sync-binding.repository.ts';
import { SyncBindingService } from './sync-binding.service.ts';
import { SyncCommentRepository } from './sync-comment.repository.ts';
import { SyncComments } from './sync-comments.ts';
import { SyncDueRepository } from './sync-due.repository.ts';
import { SyncFields } from './sync-fields.ts';
import { SyncRun } from './sync-run.ts';
import { SyncScheduler } from './sync-scheduler.ts';
import { Syncer } from './syncer.ts';
import type { TrackingConfig } from './tracker-environment.ts';
import { SyncWebhookService } from './webhook.service.ts';

interface TrackingDependencies {
  config: TrackingConfig | undefined;
  database: Database;
  issues: IssueRepository;
  statuses: IssueStatusService;
  statusRepository: IssueStatusRepository;
  metrics?: Metrics;
  logger: Logger;
}

const trackers = {
  redmine: RedmineTracker,
  github: GitHubTracker,
  gitlab: GitLabTracker,
  gitea: GiteaTracker,
};

/** Everything that syncs with the external tracker; without one, what says so. */
export function createTracking(dependencies: TrackingDependencies) {
  const { config, issues, statuses, metrics } = dependencies;
  const onEnded = metrics === undefined ? undefined : countSyncs(metrics);
  if (config === undefined) {
    return {
      sync: new SyncService({ issues, tracker: undefined, deadlineMs: 0 }),
      bindings: new SyncBindingService({ issues, statuses, tracking: undefined, deadlineMs: 0 }),
      webhooks: new SyncWebhookService({ hook: undefined }),
      scheduler: undefined,
      syncer: undefined,
    };
  }
  const { database, logger } = dependencies;
  const { deadlineMs, schedule, webhookSecret: secret } = config;
  const { provider, project } = config.tracker;
  const identity = { provider, project };
  const tracker = new trackers[provider](config.tracker, logger);
  const repository = new SyncRepository(database, identity);
  const due = new SyncDueRepository(database, identity);
  const syncer = new Syncer({
    repository,
    run: createRun(dependencies, config, { tracker, repository }),
    retrySeconds: config.retrySeconds,
    logger,
    ...(onEnded === undefined ? {} : { onEnded }),
  });
  const bindings = new SyncBindingRepository(database, identity);
  return {
    sync: new SyncService({ issues, tracker: { repository, syncer }, deadlineMs }),
    bindings: new SyncBindingService({
      issues,
      statuses,
      tracking: { tracker, repository, bindings },
      deadlineMs,
    }),
    webhooks: new SyncWebhookService({
      hook: secret === undefined ? undefined : { ...identity, secret, due },
    }),
    scheduler: new SyncScheduler({ repository, due, syncer, logger }, schedule),
    syncer,
  };
}

function createRun(
  { database, issues, statusRepository }: TrackingDependencies,
  { policies, tracker: identity }: TrackingConfig,
  { tracker, repository }: { tracker: ExternalTracker; repository: SyncRepository },
): SyncRun {
  const fields = new SyncFields({ tracker, issues, statuses: statusRepository, repository, policies });
  const comments = new SyncComments({ tracker, repository: new SyncCommentRepository(database, identity) });
  return new SyncRun({ tracker, issues, repository, fields, comments });
}

function countSyncs(metrics: Metrics): (outcome: string) => void {
  const counter = metrics.counter('issues_syncs_total', 'Syncs with the external tracker, by outcome.', [
    'outcome',
  ]);
  return (outcome) => counter.inc({ outcome });
}
