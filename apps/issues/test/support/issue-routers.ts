import type { Logger } from '@tessera/service-kit';
import type { Router } from 'express';
import { ActivityRepository } from '../../src/activity/activity.repository.ts';
import { activityRouter } from '../../src/activity/activity.router.ts';
import { ActivityService } from '../../src/activity/activity.service.ts';
import { CommentRepository } from '../../src/comments/comment.repository.ts';
import { commentRouter } from '../../src/comments/comment.router.ts';
import { CommentService } from '../../src/comments/comment.service.ts';
import type { Database } from '../../src/database.ts';
import { IdempotencyRepository } from '../../src/idempotency/idempotency.repository.ts';
import { IdempotencyService } from '../../src/idempotency/idempotency.service.ts';
import { IssueListRepository } from '../../src/issue-list/issue-list.repository.ts';
import { IssueListService } from '../../src/issue-list/issue-list.service.ts';
import { IssueStatusRepository } from '../../src/issue-status/issue-status.repository.ts';
import { IssueStatusService } from '../../src/issue-status/issue-status.service.ts';
import { IssueEndpoints } from '../../src/issues/issue.endpoints.ts';
import { IssueRepository } from '../../src/issues/issue.repository.ts';
import { issueRouter } from '../../src/issues/issue.router.ts';
import { IssueService } from '../../src/issues/issue.service.ts';
import { IssueAddresses } from '../../src/issues/issue-address.ts';
import { IssueDocument } from '../../src/issues/issue-document.repository.ts';
import { linkRouter } from '../../src/links/link.router.ts';
import { LinkService } from '../../src/links/link.service.ts';
import type { PersonResolver } from '../../src/people/person-resolver.ts';
import { createTracking } from '../../src/tracker-sync/create-tracking.ts';
import { syncRouter } from '../../src/tracker-sync/sync.router.ts';
import type { TrackingConfig } from '../../src/tracker-sync/tracker-environment.ts';
import { webhookRouter } from '../../src/tracker-sync/webhook.router.ts';

export interface IssueWiring {
  database: Database;
  listDatabase: Database;
  people: PersonResolver;
  publicBaseUrl: string;
  keyPrefix: string;
  listMax: number;
  requirePrecondition: boolean;
  tracking?: TrackingConfig;
  logger: Logger;
}

/** Everything about issues, wired as the composition root wires it. */
export function issueRouters(wiring: IssueWiring): Router[] {
  const { database, listDatabase, people, listMax, requirePrecondition } = wiring;
  const document = new IssueDocument(wiring.keyPrefix, wiring.tracking?.tracker);
  const addresses = new IssueAddresses(wiring);
  const repository = new IssueRepository(database, document);
  const idempotency = new IdempotencyService({ repository: new IdempotencyRepository(database) });
  const issues = new IssueService({ repository, people, requirePrecondition });
  const statusRepository = new IssueStatusRepository(database, document);
  const statuses = new IssueStatusService({
    issues: repository,
    repository: statusRepository,
    requirePrecondition,
  });
  const lists = new IssueListService({ repository: new IssueListRepository(listDatabase, document) });
  const comments = new CommentService({ repository: new CommentRepository(database) });
  const activity = new ActivityService({ repository: new ActivityRepository(database) });
  const tracking = createTracking({
    config: wiring.tracking,
    database,
    issues: repository,
    statuses,
    statusRepository,
    logger: wiring.logger,
  });
  return [
    issueRouter({
      endpoints: new IssueEndpoints({ issues, lists, idempotency, addresses, listMax }),
      issues,
      statuses,
      idempotency,
      addresses,
    }),
    commentRouter({ comments, idempotency, addresses }),
    linkRouter({ links: new LinkService({ issues: repository, people }), addresses }),
    activityRouter({ activity, addresses }),
    syncRouter({ ...tracking, idempotency, addresses }),
    webhookRouter(tracking),
  ];
}
