import { createTokenVerifier, RemoteKeySource } from '@tessera/jwt-verify';
import {
  CleanupJob,
  EventFeed,
  Health,
  type Logger,
  Metrics,
  observeEventFeed,
  problemsUrlOf,
  type ReadSource,
  readinessTimeoutMs,
  type Tracing,
  WordRewriter,
} from '@tessera/service-kit';
import { ActivityRepository } from './activity/activity.repository.ts';
import { createAttachments } from './attachments/create-attachments.ts';
import { Leases } from './background/leases.ts';
import { CleanupRepository } from './cleanup/cleanup.repository.ts';
import { cleanupTasks } from './cleanup/cleanup-tasks.ts';
import { CommentService } from './comments/comment.service.ts';
import type { Config } from './config.ts';
import { createDatabase, createListDatabase, createListReads, type Database } from './database.ts';
import { EventChannel } from './events/event-channel.ts';
import { EventSignal, EventWorker } from './events/event-signal.ts';
import { EventStreams } from './events/event-streams.ts';
import { PositionedFeed } from './events/positioned-feed.ts';
import { findEndedStreams } from './events/stream-ends.sql.ts';
import { observeStreams } from './events/stream-metrics.ts';
import { IdempotencyRepository } from './idempotency/idempotency.repository.ts';
import { IdempotencyService } from './idempotency/once.ts';
import { createPeople } from './identity-mirror/create-people.ts';
import type { IdentityMirrorService } from './identity-mirror/identity-mirror.service.ts';
import { peopleWordTable } from './identity-mirror/person-words.ts';
import { IssueBulkService } from './issue-bulk/issue-bulk.service.ts';
import { IssuePresenter } from './issue-core/issue.presenter.ts';
import { IssueUrls } from './issue-core/issue-reference.ts';
import { IssueListRepository } from './issue-list/issue-list.repository.ts';
import { IssueListService } from './issue-list/issue-list.service.ts';
import { AccessReader } from './issue-store/access-reader.ts';
import { IssueMover } from './issue-store/move.ts';
import { IssueReader } from './issue-store/read.ts';
import { IssueRelater } from './issue-store/relate.ts';
import { issueWordTables } from './issue-store/words.ts';
import { IssueWriter } from './issue-store/write.ts';
import { IssueService } from './issues/issue.service.ts';
import { LabelRepository } from './labels/label.repository.ts';
import { LabelService } from './labels/label.service.ts';
import { LinkService } from './links/link.service.ts';
import { MentionRepository } from './mentions/mention.repository.ts';
import { NotificationRepository } from './notifications/notification.repository.ts';
import { NotificationService } from './notifications/notification.service.ts';
import { MemberRepository } from './projects/member.repository.ts';
import { MemberService } from './projects/member.service.ts';
import { ProjectRepository } from './projects/project.repository.ts';
import { ProjectService } from './projects/project.service.ts';
import { createRateLimits } from './rate-limit/create-rate-limits.ts';
import { RequestShares } from './rate-limit/request-shares.ts';
import { RelationService } from './relations/relation.service.ts';
import { createTracking } from './tracker-sync/tracking.ts';
import { ViewRepository } from './views/view.repository.ts';
import { WatchingRepository } from './watching/watching.repository.ts';
import { createWebSessions } from './web-session/create-web-sessions.ts';
import { createWebhooks } from './webhooks/create-webhooks.ts';

export type Dependencies = Awaited<ReturnType<typeof createDependencies>>;

/** Composition root: creates every object that has state or dependencies, once. */
export async function createDependencies(config: Config, logger: Logger, tracing?: Tracing) {
  const main = createDatabase(config.database, logger);
  const lists = createListDatabase(config.database, logger);
  const keys = createKeySource(config, logger);
  await keys.start();
  const leases = new Leases();
  const metrics = new Metrics('issues');
  const people = createPeople(config, { database: main.database, leases, keys, metrics, logger, tracing });
  const { standby, ...listReads } = createListReads(config, lists, { logger, metrics, tracing });
  const eventSignal = createSignal(config, logger);
  const issues = createIssues(config, logger, {
    main: main.database,
    lists: listReads.source,
    leases,
    people: people.mirror,
    metrics,
    eventSignal,
  });
  issues.scheduler?.start();
  const verifier = createTokenVerifier({
    kind: 'access',
    issuer: config.issuer,
    audience: config.audience,
    keys,
    clockToleranceSeconds: config.identity.clockToleranceSeconds,
  });
  const { identity, webApp } = config;
  const { database } = main;
  const attachments = createAttachments(config.attachments, { ...issues, database, metrics, logger });
  const parts = { identity, database, verifier, keys, logger, metrics, tracing };
  const webSessions = webApp && createWebSessions(webApp, parts);
  const tasks = cleanupTasks(new CleanupRepository(main.database), {
    eventRetentionDays: config.eventRetentionDays,
    webSessions: webSessions?.service,
    attachments,
  });
  const cleanup = new CleanupJob({ tasks, intervalSeconds: config.cleanupIntervalSeconds, logger });
  cleanup.start();
  const words = new WordRewriter({ pool: main.pool, tables: [...issueWordTables, peopleWordTable], logger });
  words.start();
  const limits = createRateLimits(config, logger);
  metrics.observePool('main', main.pool);
  metrics.observePool('lists', lists.pool);
  tracing?.tracePool(main.pool);
  tracing?.tracePool(lists.pool);
  const events = new EventFeed(main.pool, { standbys: config.eventStandbys });
  observeEventFeed(metrics, events);
  const streamed = standby === undefined ? undefined : new PositionedFeed(events, standby);
  const { access } = issues;
  const notifications = createNotifications(main.database, access, eventSignal, logger);
  const eventStreams: EventStreams = new EventStreams({
    feed: streamed ?? events,
    position: streamed && (() => streamed.position),
    signal: eventSignal,
    urls: issues.urls,
    access,
    findEnded: (owners) => findEndedStreams(main.database, owners),
    findChangedNotifications: (people) => notifications.repository.changed(people),
    onEnded: observeStreams(metrics, () => eventStreams),
    logger,
  });
  if (config.mirrorIntervalSeconds > 0) {
    people.backfill.start();
    people.feed.start();
  }
  const webhooks = createWebhooks(config, {
    database: main.database,
    leases,
    urls: issues.urls,
    projects: issues.projects,
    signal: eventSignal,
    metrics,
    logger,
  });
  webhooks.dispatcher.start();
  eventSignal.start();
  return {
    config,
    logger,
    metrics,
    keys,
    events,
    standby,
    eventSignal,
    eventStreams,
    notifications: notifications.service,
    webhooks: webhooks.service,
    attachments: attachments.service,
    transfers: attachments.transfers,
    /** What looks after the stores of files. */
    blobs: { attachments },
    mirror: people.mirror,
    backfill: people.backfill,
    feed: people.feed,
    users: people.users,
    verifier,
    webSessions,
    health: new Health({
      logger,
      timeoutMs: readinessTimeoutMs(config.database),
      // Cached keys keep working while identity is down, so readiness requires only the first fetch.
      checks: [...main.readiness, { name: 'keys', check: async () => keys.status().ready }],
      warnings: [
        { name: 'tracker_credentials', isOn: () => issues.runner?.credentialsRejected ?? false },
        { name: 'attachment_store', isOn: () => attachments.monitor.isDown },
      ],
    }),
    ...issues,
    rateLimits: limits.rateLimits,
    shares: { requests: sharesOf(main.pool), lists: sharesOf(lists.pool) },
    endStreams: () => eventStreams.endAll(),
    close: async () => {
      keys.stop();
      await eventStreams.close();
      await Promise.all([
        leases.stop(),
        issues.scheduler?.stop(),
        cleanup.stop(),
        words.stop(),
        attachments.monitor.stop(),
        people.backfill.stop(),
        webSessions?.stop(),
        people.feed.stop(),
        notifications.worker.stop(),
        webhooks.dispatcher.stop(),
      ]);
      await eventSignal.stop();
      await listReads.close();
      await Promise.all([main.close(), lists.close(), limits.close()]);
    },
  };
}

/** Changes of other processes are signalled unless a pooler does not support it; then each process finds them later. */
function createSignal({ database, listensForEvents }: Config, logger: Logger): EventSignal {
  if (!listensForEvents) return new EventSignal();
  const { url: connectionString } = database;
  return new EventSignal(new EventChannel({ connectionString, applicationName: 'issues events', logger }));
}

function createNotifications(database: Database, access: AccessReader, signal: EventSignal, logger: Logger) {
  const repository = new NotificationRepository(database, access);
  // The streams then tell people of them.
  const run = () => repository.notify(() => signal.written());
  const worker = new EventWorker({ name: 'notifications', signal, run, pauseMs: 200, logger });
  worker.start();
  return { worker, repository, service: new NotificationService({ repository }) };
}

/** At most half of the connections for one identity. */
function sharesOf({ options }: { options: { max: number } }): RequestShares {
  return new RequestShares({ max: Math.max(1, Math.floor(options.max / 2)) });
}

function createKeySource({ identity }: Config, logger: Logger): RemoteKeySource {
  return new RemoteKeySource({
    jwksUri: identity.jwksUri,
    timeoutMs: identity.timeoutMs,
    unknownKidCooldownSeconds: identity.jwksCooldownSeconds,
    onEvent: (event) => logger.info({ event }, 'identity key set'),
  });
}

interface IssueCollaborators {
  main: Database;
  lists: ReadSource;
  leases: Leases;
  people: IdentityMirrorService;
  metrics: Metrics;
  eventSignal: EventSignal;
}

function createIssues(config: Config, logger: Logger, collaborators: IssueCollaborators) {
  const { main, lists, people } = collaborators;
  const { requirePrecondition, keyPrefix, publicBaseUrl } = config;
  const tracker = config.tracking?.tracker;
  const urls = new IssueUrls({ publicBaseUrl, keyPrefix });
  const presenter = new IssuePresenter({ urls, tracker });
  const reader = new IssueReader(main, tracker);
  const writer = new IssueWriter(main, tracker);
  const views = new ViewRepository(main);
  const labels = new LabelService({ repository: new LabelRepository(main), views });
  const mentions = new MentionRepository(main);
  const access = new AccessReader(main);
  const memberships = new MemberRepository(main);
  const projects = new ProjectService({
    repository: new ProjectRepository(main),
    members: memberships,
    access,
    mover: new IssueMover(main, tracker),
    presenter: urls,
    keyPrefix,
  });
  return {
    urls,
    idempotency: new IdempotencyService({
      repository: new IdempotencyRepository(main),
      problemsUrl: problemsUrlOf(config.publicBaseUrl),
    }),
    issues: new IssueService({
      reader,
      writer,
      presenter,
      people,
      labels,
      mentions,
      projects,
      access,
      requirePrecondition,
    }),
    lists: new IssueListService({
      repository: new IssueListRepository(lists, keyPrefix, tracker),
      presenter,
    }),
    bulk: new IssueBulkService({ writer, people, labels, projects, access }),
    presenter,
    links: new LinkService({ reader, writer, people }),
    relations: new RelationService({ reader, relater: new IssueRelater(main) }),
    labels,
    access,
    projects,
    members: new MemberService({ members: memberships, projects, people, access }),
    comments: new CommentService({ reader, writer, mentions }),
    watching: new WatchingRepository(main),
    views,
    reader,
    writer,
    activity: new ActivityRepository(main),
    ...createTracking(config, logger, { ...collaborators, reader, writer, labels }),
  };
}
