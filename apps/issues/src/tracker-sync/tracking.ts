import type { EventSignal, Logger, Metrics } from '@tessera/service-kit';
import type { Config } from '../config.ts';
import type { Database } from '../database.ts';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import type { IssueRepository } from '../issue-store/issue.repository.ts';
import type { IssueStatusRepository } from '../issue-store/issue-status.repository.ts';
import type { LabelService } from '../labels/label.service.ts';
import { GiteaTracker } from '../trackers/gitea.tracker.ts';
import { GitHubTracker } from '../trackers/github.tracker.ts';
import { GitLabTracker } from '../trackers/gitlab.tracker.ts';
import { RedmineTracker } from '../trackers/redmine.tracker.ts';
import { ImportRepository } from './import.repository.ts';
import { ImportService } from './import.service.ts';
import { IntegrationService } from './integration.service.ts';
import { SyncRepository } from './sync.repository.ts';
import { SyncBindingService } from './sync-binding.service.ts';
import { SyncExecutor, SyncService } from './sync-issue.ts';
import { observeSyncs } from './sync-metrics.ts';
import { SyncQueueRepository } from './sync-queue.repository.ts';
import { SyncScheduler } from './sync-scheduler.ts';
import { WebhookReceiver } from './webhook.ts';

const trackers = {
  redmine: RedmineTracker,
  github: GitHubTracker,
  gitlab: GitLabTracker,
  gitea: GiteaTracker,
};

interface TrackingCollaborators {
  main: Database;
  people: IdentityMirrorService;
  metrics: Metrics;
  eventSignal: EventSignal;
  issues: IssueRepository;
  statusRepository: IssueStatusRepository;
  labels: LabelService;
}

/** Creates everything that syncs issues with the configured tracker, if there is one. */
export function createTracking({ tracking }: Config, logger: Logger, collaborators: TrackingCollaborators) {
  const { main, people, metrics, eventSignal, issues, statusRepository, labels } = collaborators;
  if (tracking === undefined) {
    observeSyncs(metrics, undefined);
    return {
      sync: new SyncService({ issues, executor: undefined }),
      bindings: new SyncBindingService({ issues, statuses: statusRepository, tracking: undefined }),
      webhooks: new WebhookReceiver(undefined),
      integration: new IntegrationService(undefined),
      imports: new ImportService(undefined),
      scheduler: undefined,
      executor: undefined,
    };
  }
  const { policies, deadlineMs, retrySeconds, schedule, webhookSecret: secret, fingerprint } = tracking;
  const { provider, project } = tracking.tracker;
  const repository = new SyncRepository(main, { provider, project, fingerprint });
  const queue = new SyncQueueRepository(main, { provider, project, fingerprint });
  const recordOutcome = observeSyncs(metrics, queue);
  const tracker = new trackers[provider](tracking.tracker, { logger, limit: queue });
  const executor = new SyncExecutor({
    tracker,
    repository,
    issues,
    statuses: statusRepository,
    labels,
    policies,
    deadlineMs,
    retrySeconds,
    onEnded: (outcome) => {
      recordOutcome(outcome);
      eventSignal.written();
    },
    logger,
  });
  const imports = new ImportService({
    tracker,
    repository: new ImportRepository(main, { provider, project }),
    people,
    assignees: tracking.assignees,
    deadlineMs,
    retrySeconds,
    logger,
  });
  return {
    sync: new SyncService({ issues, executor }),
    bindings: new SyncBindingService({
      issues,
      statuses: statusRepository,
      tracking: { tracker, repository, deadlineMs },
    }),
    webhooks: new WebhookReceiver(secret === undefined ? undefined : { provider, project, secret, queue }),
    integration: new IntegrationService({ config: tracking.tracker, tracker, queue, deadlineMs, logger }),
    imports,
    scheduler: new SyncScheduler({ tracker, queue, executor, imports, logger }, schedule),
    executor,
  };
}
