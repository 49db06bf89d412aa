import type { IncomingMessage } from 'node:http';
import {
  addComment,
  changeIssueStatus,
  changeIssues,
  changeMyPassword,
  countIssues,
  createIssue,
  createUser,
  deactivateUser,
  deleteComment,
  deleteLink,
  describeIssues,
  getComment,
  getIssue,
  getMe,
  getSession,
  getUser,
  getWatching,
  listActivity,
  listComments,
  listEvents,
  listIssuePages,
  listIssues,
  listNotifications,
  listUsers,
  listWatching,
  markNotificationsDone,
  markNotificationsRead,
  markNotificationsUnread,
  patchIssue,
  patchUser,
  positionHeader,
  putLink,
  restoreNotifications,
  snoozeNotifications,
  startWatching,
  stopWatching,
  streamEvents,
  updateComment,
  updateIssue,
  updateMe,
  updateUser,
} from '@tessera/contracts';
import {
  type Access,
  type App,
  apiDocsRoutes,
  type CrossOrigin,
  createApp as createExpressApp,
  everyone,
  guard,
  healthRoutes,
  type PreparedDocument,
  type Route,
  route,
  type StandbyReads,
} from '@tessera/service-kit';
import { activityHandlers } from './activity/activity.handlers.ts';
import { attachmentRoutes } from './attachments/attachment.routes.ts';
import { authenticate, renewAccess, translateAccessError } from './authentication/authenticate.ts';
import { commentHandlers } from './comments/comment.handlers.ts';
import type { Dependencies } from './dependencies.ts';
import { eventHandlers } from './events/event.handlers.ts';
import { once } from './idempotency/once.ts';
import { issueBulkHandlers } from './issue-bulk/issue-bulk.handlers.ts';
import type { Actor } from './issue-core/actor.ts';
import { issueListHandlers } from './issue-list/issue-list.handlers.ts';
import { issueHandlers } from './issues/issue.handlers.ts';
import { labelRoutes } from './labels/label.routes.ts';
import { linkHandlers } from './links/link.handlers.ts';
import { notificationHandlers } from './notifications/notification.handlers.ts';
import { projectRoutes } from './projects/project.routes.ts';
import { limitRate } from './rate-limit/rate-limiter.ts';
import { relationRoutes } from './relations/relation.routes.ts';
import { syncRoutes } from './tracker-sync/sync.routes.ts';
import { userHandlers } from './users/user.handlers.ts';
import { assertMayAdministerUsers } from './users/user-access.ts';
import { viewRoutes } from './views/view.routes.ts';
import { watchingHandlers } from './watching/watching.handlers.ts';
import { readWebAppPage, webAppRoutes } from './web-app/web-app.ts';
import { createWebSessionRoutes } from './web-session/web-session.routes.ts';
import { webhookRoutes } from './webhooks/webhook.routes.ts';

export function createApp(dependencies: Dependencies): App {
  const { config, logger, metrics, rateLimits, shares } = dependencies;
  const access = accesses(dependencies);
  const webAppPage = config.webApp && readWebAppPage();
  const webSessions = createWebSessionRoutes(
    dependencies,
    (session) => createRoutes(dependencies, { ...access, ...session }),
    access.member.answered,
  );
  return createExpressApp({
    logger,
    metrics,
    trustProxy: config.trustProxy,
    publicUrl: config.publicBaseUrl,
    security: { hsts: config.publicBaseUrl.startsWith('https:') },
    translate: translateAccessError,
    // OpenID Connect Back-Channel Logout 2.8.
    extraMembers: ({ code }, request) =>
      (request as IncomingMessage).operation?.oauth ? { error: code } : {},
    guards: {
      '/api/v1': guard({ access: access.member, limit: limitRate(rateLimits.reads, shares.requests) }),
      ...webSessions.guards,
    },
    routes: [
      ...createRoutes(dependencies, access, webAppPage),
      ...webSessions.routes,
      ...(webAppPage === undefined ? [] : webAppRoutes(webAppPage)),
    ],
    // The app says that there is no such page.
    notFoundPage: webAppPage,
    onWritten: () => dependencies.eventSignal.written(),
  });
}

/** All HTTP operations with their access and rate limits. Express tries routes in order: frequent ones come first. */
export function createRoutes(
  dependencies: Dependencies,
  access = accesses(dependencies),
  homePage?: PreparedDocument,
): Route[] {
  const { config, health, idempotency, rateLimits, shares } = dependencies;
  const lists = issueListHandlers({ ...dependencies, listMax: config.listMax });
  const links = linkHandlers(dependencies);
  const activity = activityHandlers(dependencies);
  const events = eventHandlers(dependencies);
  const watching = watchingHandlers(dependencies);
  const notifications = notificationHandlers(dependencies);
  const users = userHandlers({ ...config, users: dependencies.users });

  const { member } = access;
  const listReads = limitRate(rateLimits.reads, shares.lists);
  const reads = limitRate(rateLimits.reads, shares.requests);
  const writes = limitRate(rateLimits.writes, shares.requests);
  const limits = { access: member, reads, writes };
  const issues = issueHandlers({ ...dependencies, quota: writes });
  const comments = commentHandlers({ ...dependencies, quota: writes });
  const bulk = issueBulkHandlers({ ...dependencies, quota: writes });
  const administrator = { access: member, limit: writes, authorize: assertMayAdministerUsers };
  // Large enough for every issue that the schemas accept, even if each character is escaped.
  const issueBody = { limitBytes: 1024 * 1024 };
  const userBody = { limitBytes: 64 * 1024 };
  // Texts that every user may read. In a response that also has issues which others do not see, its size would tell of them to an author
  // of texts beside them (BREACH). The lists of users mix e-mails with names that others choose.
  const compress = ({ access: { seesRestricted } }: Actor) => !seesRestricted;

  return [
    route(listIssues, { access: member, limit: listReads, compress }, lists.list),
    route(getIssue, { access: member, limit: reads, compress }, issues.get),
    route(createIssue, { access: member, limit: writes, body: issueBody }, once(idempotency, issues.create)),
    route(updateIssue, { access: member, limit: writes, body: issueBody }, issues.update),
    route(patchIssue, { access: member, limit: writes, body: issueBody }, issues.update),
    route(
      changeIssueStatus,
      { access: member, limit: writes, body: issueBody },
      once(idempotency, issues.changeStatus),
    ),
    route(changeIssues, { access: member, limit: writes }, once(idempotency, bulk.change)),
    route(listComments, { access: member, limit: reads, compress }, comments.list),
    route(addComment, { access: member, limit: writes, body: issueBody }, once(idempotency, comments.add)),
    route(getComment, { access: member, limit: reads, compress }, comments.get),
    route(updateComment, { access: member, limit: writes, body: issueBody }, comments.update),
    route(deleteComment, { access: member, limit: writes }, comments.remove),
    route(listActivity, { access: member, limit: reads, compress }, activity.list),
    route(listEvents, { access: member, limit: reads, compress }, events.list),
    // A stream stays open, so it has no share of the concurrent requests, which wait for the database.
    route(streamEvents, { access: member, limit: limitRate(rateLimits.reads) }, events.stream),
    route(putLink, { access: member, limit: writes }, links.put),
    route(deleteLink, { access: member, limit: writes }, links.remove),
    ...relationRoutes(dependencies, limits),
    ...attachmentRoutes(dependencies, limits, access),
    route(getWatching, { access: member, limit: reads }, watching.get),
    route(startWatching, { access: member, limit: writes }, watching.start),
    route(stopWatching, { access: member, limit: writes }, watching.stop),
    route(listWatching, { access: member, limit: reads, compress }, watching.list),
    // Not compressed: titles that others choose are beside what the person follows.
    route(listNotifications, { access: member, limit: reads }, notifications.list),
    route(markNotificationsRead, { access: member, limit: writes }, notifications.markRead),
    route(markNotificationsUnread, { access: member, limit: writes }, notifications.markUnread),
    route(markNotificationsDone, { access: member, limit: writes }, notifications.markDone),
    route(restoreNotifications, { access: member, limit: writes }, notifications.restore),
    route(snoozeNotifications, { access: member, limit: writes }, notifications.snooze),
    route(listIssuePages, { access: member, limit: listReads, compress }, lists.listPage),
    route(countIssues, { access: member, limit: listReads, compress }, lists.count),
    route(describeIssues, { access: member, limit: reads }, issues.describe),
    ...labelRoutes(dependencies, limits),
    ...projectRoutes(dependencies, limits),
    ...viewRoutes(dependencies, limits),
    ...webhookRoutes(dependencies, limits),
    ...syncRoutes(dependencies, limits, access.trackers),

    route(listUsers, { access: member, limit: reads }, users.list),
    route(getMe, { access: member, limit: reads }, users.getCurrent),
    route(updateMe, { access: member, limit: writes, body: userBody }, users.updateCurrent),
    route(changeMyPassword, { access: member, limit: writes, body: userBody }, users.changePassword),
    route(getUser, { access: member, limit: reads }, users.get),
    route(createUser, { ...administrator, body: userBody }, users.create),
    route(updateUser, { ...administrator, body: userBody }, users.update),
    route(patchUser, { ...administrator, body: userBody }, users.update),
    route(deactivateUser, administrator, users.deactivate),

    ...healthRoutes(health),
    ...apiDocsRoutes({ api: 'issues', documentPath: '/api/openapi.json', pagePath: '/api/docs/', homePage }),
  ];
}

function accesses(dependencies: Dependencies) {
  const { standby } = dependencies;
  const { corsOrigins, requireVerified } = dependencies.config;
  // Only listed origins are allowed, although browsers never add bearer tokens to a request.
  const crossOrigin: CrossOrigin = {
    origins: corsOrigins,
    methods: ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE'],
    exposedHeaders: [
      'Link',
      'X-Total-Count',
      'X-Unread-Count',
      'ETag',
      'Location',
      'Retry-After',
      'X-Request-Id',
      'Idempotency-Replayed',
      'X-Ignored-Fields',
      'Preference-Applied',
      'RateLimit',
      'RateLimit-Policy',
      ...(standby === undefined ? [] : [positionHeader]),
    ],
  };
  const shared = { crossOrigin, headers: { 'Cache-Control': 'no-store' } };
  const member: Access<Actor> = {
    ...shared,
    identify: authenticate({ ...dependencies, requireVerified }),
    answered: standby && tellPosition(standby),
    renew: renewAccess(dependencies),
  };
  /** Trackers send no token. The handler verifies the signature of the body. */
  const trackers: Access<undefined> = { ...shared, ...everyone };
  // The stream of a file is read only once.
  const { renew: _renew, ...uploads } = member;
  return { member, uploads, contents: member, trackers };
}

// The web app's pages are as new as the events after the cursor of its session.
const followed: readonly string[] = [listEvents.path, `/app${listEvents.path}`, getSession.path];

/** Tells the client, after a write and with events, what its lists have to see. */
function tellPosition(standby: Pick<StandbyReads, 'position'>): Access<unknown>['answered'] {
  return async ({ operation }, response) => {
    if (operation === undefined) return;
    const isRead = operation.method === 'GET' || operation.method === 'OPTIONS';
    if (isRead && !followed.includes(operation.path)) return;
    const position = await standby.position();
    if (position !== undefined) response.setHeader(positionHeader, position);
  };
}
