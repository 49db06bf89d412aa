import { randomUUID } from 'node:crypto';
import type { Issue } from '@tessera/contracts';
import type { Response } from 'supertest';
import { issuePath, issuesPath } from './issues.ts';
import type { TestPerson } from './people.ts';

/** What the requests of the tour need. */
export interface TourOf {
  /** A person whose id is beyond the statistics. */
  late: TestPerson;
  staff: TestPerson;
  issue: Issue;
  /** Ids of what earlier requests have made. */
  made: Record<string, string>;
}

type Send = (tour: TourOf) => PromiseLike<Response>;

/** A name, a request, and the maximum number of blocks of a statement that looks at a limited number of rows. */
type Request = [name: string, send: Send, max: number | undefined];

const read = (
  path: string | ((tour: TourOf) => string),
  as: 'late' | 'staff' = 'late',
  max?: number,
): Request => [
  `GET ${typeof path === 'string' ? path : path.toString().replace(/^.*=> /s, '')}`,
  (tour) => tour[as].get(typeof path === 'string' ? path : path(tour)),
  max,
];
function write(name: string, send: Send, made?: string): Request {
  const sent: Send = async (tour) => {
    const response = await send(tour);
    if (made !== undefined) tour.made[made] = response.body.id;
    return response;
  };
  return [`write ${name}`, sent, undefined];
}

const labels = '/api/v1/labels/';
const earlyPerson = '00000000-0000-7000-8000-000000000001';
const counts = `${issuesPath}counts/`;
const people = '/api/v1/users/';
const hooks = '/api/v1/webhooks/';

/** Requests that send the statements of the service, in an order in which each finds what it needs. */
export const requests: Request[] = [
  read(issuesPath),
  read(`${issuesPath}?status=OPEN&limit=200`),
  read(`${issuesPath}?status=REOPENED`),
  read(`${issuesPath}?status=OPEN&priority=HIGH`),
  read(`${issuesPath}?priority=LOW&ordering=-updated_at`),
  read(`${issuesPath}?status=CLOSED&ordering=-updated_at`),
  read(`${issuesPath}?status=OPEN&ordering=title`, 'late', 2_000),
  read(`${issuesPath}?assignee=${earlyPerson}`),
  read(`${issuesPath}?assignee=me&is_open=true`),
  read(`${issuesPath}?assignee=none`),
  read(`${issuesPath}?link=invoice:1`),
  read(`${issuesPath}?link=invoice:2`),
  read(`${issuesPath}?ordering=-priority,created_at`),
  read(`${issuesPath}?search=nosuchword`, 'late', 9_500),
  read(`/api/v1/issue-pages/?page_size=100`),
  read(`${counts}?by=status`),
  read(`${counts}?by=priority`),
  read(({ issue }) => issuePath(issue)),
  read(({ issue }) => issuePath(issue, 'comments/')),
  read(({ issue }) => issuePath(issue, 'activity/')),
  read(({ issue }) => issuePath(issue, 'watch/')),
  read('/api/v1/users/me/watching/'),
  read('/api/v1/notifications/'),
  read('/api/v1/events/'),
  read(people),
  read(`${people}?is_active=false`),
  read(`${people}?search=late`),
  read(`${people}?search=early`),
  read(`${people}?search=nobody`),
  read(({ issue }) => `${people}?issue=${issue.key}`),
  read(({ late }) => `${people}${late.id}/`, 'staff'),
  read('/api/v1/labels/'),
  // Writes.
  write('an issue', ({ late }) =>
    late.post(issuesPath, { title: 'x', links: [{ type: 'invoice', ref: '1' }] }),
  ),
  write('an issue with a key', ({ late, made }) => {
    made.key = randomUUID();
    return late.post(issuesPath, { title: 'x' }).set('Idempotency-Key', made.key);
  }),
  write('the same issue again', ({ late, made }) =>
    late.post(issuesPath, { title: 'x' }).set('Idempotency-Key', made.key ?? ''),
  ),
  write('a title', ({ late, issue }) => late.patch(issuePath(issue), { title: 'y' })),
  // Identity does not know this one.
  write('an assignee', ({ late, issue }) => late.patch(issuePath(issue), { assignee_id: earlyPerson })),
  write('a status', ({ staff, issue }) => staff.post(issuePath(issue, 'status/'), { status: 'CLOSED' })),
  write('a mention', ({ late, issue }) => late.patch(issuePath(issue), { description: '@early1 @nobody' })),
  write('a label', ({ staff }) => staff.post(labels, { name: 'bug' }), 'label'),
  read(({ made }) => `${labels}${made.label}/`),
  write('a color', ({ staff, made }) => staff.patch(`${labels}${made.label}/`, { color: '#112233' })),
  write('labels of issues', ({ staff, issue }) =>
    staff.post(`${issuesPath}bulk/`, { ids: [issue.key], labels: { add: ['bug'] } }),
  ),
  read(`${issuesPath}?label=bug`),
  write('without a label', ({ staff, made }) => staff.delete(`${labels}${made.label}/`)),
  write(
    'a comment',
    ({ late, issue }) => late.post(issuePath(issue, 'comments/'), { body: '@early2' }),
    'comment',
  ),
  read(({ issue, made }) => issuePath(issue, `comments/${made.comment}/`)),
  write('a text', ({ late, issue, made }) =>
    late.patch(issuePath(issue, `comments/${made.comment}/`), { body: 'z' }),
  ),
  write('without a comment', ({ late, issue, made }) =>
    late.delete(issuePath(issue, `comments/${made.comment}/`)),
  ),
  write(
    'a link',
    ({ late, issue }) => late.post(issuePath(issue, 'links/'), { type: 'invoice', ref: '1' }),
    'link',
  ),
  write('without a link', ({ late, issue, made }) => late.delete(issuePath(issue, `links/${made.link}/`))),
  write('a watcher', ({ late, issue }) => late.put(issuePath(issue, 'watch/'))),
  write('no watcher', ({ late, issue }) => late.delete(issuePath(issue, 'watch/'))),
  write('read notifications', ({ late }) => late.post('/api/v1/notifications/read/', { up_to: 1 })),
  write('unread notifications', ({ late }) => late.post('/api/v1/notifications/unread/', { ids: [1] })),
  write('a name', ({ late }) => late.patch(`${people}me/`, { name: 'Late' })),
  // An endpoint.
  write('an endpoint', ({ staff }) => staff.post(hooks, { url: 'https://receiver.invalid/hooks' }), 'hook'),
  read(hooks, 'staff'),
  read(({ made }) => `${hooks}${made.hook}/`, 'staff'),
  write('a test of it', ({ staff, made }) => staff.post(`${hooks}${made.hook}/test/`), 'delivery'),
  read(({ made }) => `${hooks}${made.hook}/deliveries/`, 'staff'),
  read(({ made }) => `${hooks}${made.hook}/deliveries/${made.delivery}/`, 'staff'),
  write('its description', ({ staff, made }) => staff.patch(`${hooks}${made.hook}/`, { description: 'x' })),
  write('its secret', ({ staff, made }) => staff.post(`${hooks}${made.hook}/rotate-secret/`)),
  write('without an endpoint', ({ staff, made }) => staff.delete(`${hooks}${made.hook}/`)),
];

/** How many statements of a file the tour does not send yet. A new statement needs a request above. */
export const notCovered: Record<string, number> = {
  'events/stream-ends.sql.ts': 1,
  'idempotency/idempotency.repository.ts': 1,
  'identity-mirror/identity-mirror.repository.ts': 4,
  'identity-mirror/mirror-backfill.repository.ts': 6,
  'identity-mirror/mirror-feed.repository.ts': 5,
  'issue-store/read.ts': 3,
  'issue-store/write.ts': 2,
  'labels/label.repository.ts': 1,
  'notifications/notification.repository.ts': 2,
  'tracker-sync/import.repository.ts': 9,
  'tracker-sync/remote-poll.repository.ts': 3,
  'tracker-sync/sync-comment.repository.ts': 7,
  'tracker-sync/sync-queue.repository.ts': 13,
  'tracker-sync/sync.repository.ts': 8,
  'web-session/web-session.repository.ts': 14,
  'webhooks/webhook-delivery.repository.ts': 6,
  'webhooks/webhook.repository.ts': 2,
};
