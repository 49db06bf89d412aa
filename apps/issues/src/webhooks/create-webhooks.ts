import type { Logger, Metrics } from '@tessera/service-kit';
import type { Leases } from '../background/leases.ts';
import type { Config } from '../config.ts';
import type { Database } from '../database.ts';
import type { EventSignal } from '../events/event-signal.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { WebhookRepository } from './webhook.repository.ts';
import { WebhookService } from './webhook.service.ts';
import { WebhookDeliveryRepository } from './webhook-delivery.repository.ts';
import { WebhookDispatcher } from './webhook-dispatcher.ts';
import { attemptErrors, WebhookSender } from './webhook-sender.ts';
import { WebhookTargets } from './webhook-target.ts';

interface WebhookCollaborators {
  database: Database;
  leases: Leases;
  urls: IssueUrls;
  projects: ConstructorParameters<typeof WebhookService>[0]['projects'];
  signal: EventSignal;
  metrics: Metrics;
  logger: Logger;
}

/** Creates everything that manages endpoints and sends events to them. */
export function createWebhooks({ webhooks }: Config, collaborators: WebhookCollaborators) {
  const { database, leases, urls, projects, signal, metrics, logger } = collaborators;
  const targets = new WebhookTargets(webhooks);
  const deliveries = new WebhookDeliveryRepository(database, leases);
  const attempts = metrics.counter(
    'issues_webhook_attempts_total',
    'Attempts to send an event to an endpoint, by outcome.',
    ['outcome'],
  );
  // Rates and increases include the first attempt of a process only if its series exists before.
  for (const outcome of ['delivered', ...attemptErrors]) attempts.inc({ outcome }, 0);
  const dispatcher = new WebhookDispatcher({
    deliveries,
    sender: new WebhookSender({ targets }),
    urls,
    signal,
    onAttempt: (error) => attempts.inc({ outcome: error ?? 'delivered' }),
    logger,
  });
  const gauge = metrics.gauge(
    'issues_webhook_oldest_due_seconds',
    'How long the oldest due delivery to an enabled endpoint has been waiting.',
    [],
    async () => {
      const age = await deliveries.oldestDueSeconds().catch(() => undefined);
      if (age !== undefined) gauge.set(age);
    },
  );
  const service = new WebhookService({
    repository: new WebhookRepository(database),
    projects,
    targets,
    logger,
  });
  return { service, dispatcher };
}
