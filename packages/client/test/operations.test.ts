import { describe, expect, it } from '@jest/globals';
import { type Api, identityApi, issuesApi, type Operation } from '@tessera/contracts';
import { IdentityClient } from '../src/identity.ts';
import { type IssueFilters, IssuesClient, Session } from '../src/issues.ts';

interface Sent {
  method: string;
  url: URL;
  body: unknown;
}

/** Returns a `fetch` that records requests and responds with `[]`, or for a list with two pages of it. */
function recordingFetch(sent: Sent[], { query }: Operation): typeof fetch {
  const position = query !== undefined && 'cursor' in query.shape ? 'cursor' : 'after';
  return async (input, init) => {
    const body = typeof init?.body === 'string' ? JSON.parse(init.body) : undefined;
    const url = new URL(String(input));
    sent.push({ method: init?.method ?? 'GET', url, body });
    if (url.pathname.startsWith('/token')) return Response.json(tokens);
    if (/\/events\/?$/.test(url.pathname)) return Response.json({ events: [], next: 'a', reset: true });
    if (/\/(un)?read\/$/.test(url.pathname)) return Response.json({ unread_count: 0 });
    if (sent.length > 1) return Response.json([]);
    const next = new URL(url);
    next.searchParams.set(position, id);
    return Response.json([], { headers: { Link: `<${next.pathname}${next.search}>; rel="next"` } });
  };
}

async function drain(pages: AsyncIterable<unknown>): Promise<void> {
  for await (const _ of pages);
}

const id = '01980c5e-0000-7000-8000-000000000001';
const identityUrl = 'http://identity.test';
const credentials = { identityUrl, email: 'ann@example.com', password: 'paper boat in the harbour' };
const tokens = { access_token: 'a', refresh_token: 'r', token_type: 'Bearer', expires_in: 900 } as const;
const time = new Date('2026-11-22T00:00:00Z');

type IssuesOperation = (typeof issuesApi)['operations'][number]['id'];
type IdentityOperation = (typeof identityApi)['operations'][number]['id'];
/** Operations without a method: health is for the platform, trackers send webhooks, and PUT is equivalent to PATCH; the
 * client reads the feed of events instead of the stream. */
type WithoutMethod =
  | 'getLiveness'
  | 'getReadiness'
  | 'takeWebhook'
  | 'updateIssue'
  | 'patchUser'
  | 'streamEvents';
/** Operations of `Session`. */
type SessionOperation = 'signIn' | 'refreshTokens' | 'revokeToken' | 'getUserInfo';
/** Operations for verifiers of tokens, and one that is equivalent to `getUserInfo`. */
type WithoutClient = 'getDiscoveryDocument' | 'getKeySet' | 'postUserInfo';

const filters: Required<IssueFilters> = {
  id: ['ISS-1', 2, id],
  status: ['OPEN', 'REOPENED'],
  priority: ['HIGH'],
  '-status': ['CLOSED'],
  '-priority': ['LOW'],
  assignee: ['none', id],
  '-assignee': 'me',
  reporter: 'me',
  '-reporter': [id],
  watcher: 'me',
  link: 'invoice:2024-17',
  external: 'redmine:17',
  label: ['billing', 'ui, web'],
  '-label': ['bug'],
  project: ['APP', '-WEB'],
  sync: 'failed',
  is_open: true,
  due_after: '2026-12-01',
  due_before: '2027-01-01',
  due_within: 7,
  is_overdue: false,
  created_after: time,
  created_before: time.toISOString(),
  updated_after: time,
  updated_before: time,
  search: 'invoice',
  ordering: ['-priority', 'created_at'],
};

const calls: Record<Exclude<IssuesOperation, WithoutMethod>, (client: IssuesClient) => Promise<unknown>> = {
  listIssues: (client) => drain(client.list({ ...filters, fields: ['key', 'title'], limit: 10 })),
  listIssuePages: (client) =>
    client.page({ ...filters, fields: ['key'], page: 2, page_size: 10, cursor: 'a' }),
  countIssues: (client) => {
    const { ordering: _, ...others } = filters;
    return client.counts('status', others);
  },
  describeIssues: (client) => client.describe(),
  createIssue: (client) =>
    client.create({ title: 'a', links: [{ type: 'invoice', ref: '1' }], labels: ['billing'] }),
  getIssue: (client) => client.get('ISS-1'),
  patchIssue: (client) =>
    client.update(1, { title: 'b', assignee_id: null, due_on: '2026-12-31', version: 1 }),
  listLabels: (client) => client.labels(),
  getLabel: (client) => client.label(id),
  createLabel: (client) => client.createLabel({ name: 'billing' }),
  updateLabel: (client) => client.updateLabel(id, { color: '#d73a4a' }),
  deleteLabel: (client) => client.deleteLabel(id),
  listProjects: (client) => client.projects(),
  getProject: (client) => client.project('APP'),
  createProject: (client) => client.createProject({ key: 'APP', name: 'Mobile app' }),
  updateProject: (client) => client.updateProject('APP', { name: 'Apps', version: 1 }),
  listProjectMembers: (client) => drain(client.projectMembers('APP', { limit: 5 })),
  putProjectMember: (client) => client.putProjectMember('APP', id, 'member'),
  deleteProjectMember: (client) => client.removeProjectMember('APP', id),
  listProjectActivity: (client) => drain(client.projectHistory('APP', { limit: 5 })),
  moveIssue: (client) => client.move('ISS-1', 'APP'),
  listViews: (client) => client.views(),
  getView: (client) => client.view(id),
  createView: (client) => client.createView({ name: 'Billing', query: 'label=billing' }),
  updateView: (client) => client.updateView(id, { is_shared: true }),
  deleteView: (client) => client.deleteView(id),
  changeIssueStatus: (client) => client.changeStatus('ISS-1', { status: 'RESOLVED', comment: 'done' }),
  changeIssues: async (client) => {
    await client.changeAll(['ISS-1', 2], { labels: { add: ['billing'], remove: [{ id }] } });
  },
  addComment: (client) => client.addComment('ISS-1', 'text'),
  listComments: (client) => drain(client.comments('ISS-1', { limit: 5, order: 'newest' })),
  getComment: (client) => client.comment('ISS-1', id),
  updateComment: (client) => client.updateComment('ISS-1', id, 'text'),
  deleteComment: (client) => client.deleteComment('ISS-1', id),
  putLink: (client) => client.putLink('ISS-1', { type: 'user', ref: { email: 'ann@example.com' } }),
  deleteLink: (client) => client.deleteLink('ISS-1', id),
  listRelations: (client) => client.relations('ISS-1'),
  putRelation: (client) => client.putRelation('ISS-1', { kind: 'blocks', issue: 'ISS-2' }),
  deleteRelation: (client) => client.deleteRelation('ISS-1', id),
  listActivity: (client) => drain(client.activity('ISS-1', { limit: 5, order: 'oldest' })),
  listEvents: (client) => client.events({ after: 'a', limit: 5 }).next(),
  uploadAttachment: (client) => client.upload('shot.png', new Uint8Array([1]), { issue: 'ISS-1' }),
  getAttachment: (client) => client.attachment(id),
  getAttachmentContent: (client) => client.download(id, { onProgress: () => undefined }),
  deleteAttachment: (client) => client.deleteAttachment(id),
  listAttachments: (client) => client.attachments('ISS-1'),
  getWatching: (client) => client.watchState('ISS-1'),
  startWatching: (client) => client.watch('ISS-1'),
  stopWatching: (client) => client.unwatch('ISS-1'),
  listWatching: (client) => drain(client.watching({ limit: 5 })),
  listNotifications: (client) =>
    drain(
      client.notifications({ unread: true, state: 'inbox', reason: ['mentioned'], issue: 'ISS-1', limit: 5 }),
    ),
  markNotificationsRead: (client) => client.markRead({ up_to: 17 }),
  markNotificationsUnread: (client) => client.markUnread([17]),
  markNotificationsDone: (client) => client.markDone([17]),
  restoreNotifications: (client) => client.restoreNotifications([17]),
  snoozeNotifications: (client) => client.snooze([17], new Date('2026-11-30T08:00:00Z')),
  listWebhooks: (client) => client.webhooks(),
  createWebhook: (client) =>
    client.createWebhook({ url: 'https://example.com/hooks', types: ['issue.created'] }),
  getWebhook: (client) => client.webhook(id),
  updateWebhook: (client) => client.updateWebhook(id, { enabled: false }),
  deleteWebhook: (client) => client.deleteWebhook(id),
  rotateWebhookSecret: (client) => client.rotateWebhookSecret(id),
  testWebhook: (client) => client.testWebhook(id),
  listWebhookDeliveries: (client) => drain(client.webhookDeliveries(id, { state: 'failed', limit: 5 })),
  getWebhookDelivery: (client) => client.webhookDelivery(id, 17),
  redeliverWebhook: (client) => client.redeliverWebhook(id, 17),
  getSyncState: (client) => client.syncState('ISS-1'),
  syncIssue: (client) => client.sync('ISS-1'),
  resolveSyncConflict: (client) => client.resolveConflict('ISS-1', id, 'local'),
  attachExternalIssue: (client) => client.attachExternal('ISS-1', 17),
  detachExternalIssue: (client) => client.detachExternal('ISS-1'),
  listIntegrations: (client) => client.integrations(),
  retrySyncs: (client) => client.retrySyncs({ sync: 'failed', limit: 10 }),
  importIssues: async (client) => {
    await client.previewImport('1-1');
    await client.startImport();
  },
  getImport: (client) => client.importState(),
  backfillSyncs: (client) => client.backfill({ limit: 10, dry_run: true }),
  listUsers: (client) =>
    drain(
      client.users({
        search: 'ann',
        is_active: true,
        ids: [id],
        issue: 'ISS-1',
        can_read: 'APP-2',
        limit: 5,
      }),
    ),
  getMe: (client) => client.me(),
  updateMe: (client) => client.rename('Ann Lee'),
  changeMyPassword: (client) => client.changePassword('paper boat in the harbour', 'a lighthouse'),
  getUser: (client) => client.user(id),
  createUser: (client) =>
    client.createUser({ email: 'bob@example.com', password: 'paper boat in the harbour' }),
  updateUser: (client) => client.updateUser(id, { username: 'bob' }),
  deactivateUser: (client) => client.deactivateUser(id),
};

const identityCalls: Record<
  Exclude<IdentityOperation, SessionOperation | WithoutClient | WithoutMethod>,
  (client: IdentityClient) => Promise<unknown>
> = {
  createIdentity: (client) =>
    client.create({ email: 'bob@example.com', password: 'paper boat in the harbour' }),
  listIdentities: (client) => drain(client.list({ after: id, ids: [id, id], search: 'bob', limit: 5 })),
  getIdentity: (client) => client.get(id),
  findIdentityByEmail: (client) => client.findByEmail('bob@example.com'),
  findIdentityBySso: (client) => client.findBySso('google', 'a/b'),
  updateIdentity: (client) => client.update(id, { is_active: false }),
  changeIdentityPassword: (client) => client.changePassword(id, 'paper boat in the harbour', 'a lighthouse'),
  deleteIdentity: (client) => client.delete(id),
  listSessions: (client) => drain(client.sessions(id, { limit: 5 })),
  revokeSessions: (client) => client.revokeSessions(id),
  revokeSession: (client) => client.revokeSession(id, id),
  introspectToken: (client) => client.introspect('token'),
  createClient: (client) =>
    client.createClient({
      name: 'Wiki',
      kind: 'confidential',
      redirect_uris: ['https://wiki.example.com/callback'],
    }),
  listClients: (client) => drain(client.clients({ limit: 5 })),
  getClient: (client) => client.client(id),
  updateClient: (client) => client.updateClient(id, { audiences: ['tessera'] }),
  rotateClientSecret: (client) => client.rotateClientSecret(id),
  disableClient: (client) => client.disableClient(id),
  listIdentityEvents: (client) => client.events({ after: 'a', limit: 5 }).next(),
  listAuditEvents: (client) =>
    drain(
      client.auditEvents({
        identity_id: id,
        type: 'token.issued',
        outcome: 'success',
        actor: 'user',
        after: time,
        before: time,
        limit: 5,
      }),
    ),
};

const sessionCalls: Record<SessionOperation, (fetch: typeof globalThis.fetch) => Promise<unknown>> = {
  signIn: (fetch) => Session.signIn({ ...credentials, fetch }),
  refreshTokens: (fetch) => new Session({ identityUrl, tokens, fetch }).accessToken(),
  revokeToken: (fetch) => new Session({ identityUrl, tokens, fetch }).signOut(),
  getUserInfo: async (fetch) => (await Session.signIn({ ...credentials, fetch })).userInfo(),
};

// `list` iterates over pages with a cursor; `page` sends these.
const pagesWithNumbers = ['page', 'page_size'];

/** Asserts that the call sends the method, the path and the schemas of the operation, with all query parameters. */
async function expectOperation(
  { operations }: Api,
  operationId: string,
  call: (fetch: typeof globalThis.fetch) => Promise<unknown>,
): Promise<void> {
  const operation = operations.find(({ id: name }) => name === operationId);
  if (operation === undefined) throw new Error(`no operation ${operationId}`);
  const sent: Sent[] = [];
  await call(recordingFetch(sent, operation));
  const pattern = new RegExp(`^${operation.path.replace(/:\w+/g, '[^/]+')}$`);
  const requests = sent.filter(
    ({ method, url }) => method === operation.method && pattern.test(url.pathname),
  );
  // A list has two pages.
  const isList = operation.responses[200]?.headers?.Link !== undefined;
  expect(requests).toHaveLength(isList || operationId === 'importIssues' ? 2 : 1);
  expect(sent.filter((request) => !requests.includes(request))).toHaveLength(
    operationId === 'getUserInfo' ? 1 : 0,
  );
  for (const request of requests) expectValid(request, operation);
  const given = requests.flatMap(({ url }) => [...url.searchParams.keys()]);
  const omitted = isList ? pagesWithNumbers : [];
  const known = Object.keys(operation.query?.shape ?? {}).filter((name) => !omitted.includes(name));
  expect([...new Set(given)].sort()).toEqual(known.sort());
}

function expectValid({ url, body }: Sent, operation: Operation): void {
  const query: Record<string, unknown> = {};
  for (const name of new Set(url.searchParams.keys())) {
    const values = url.searchParams.getAll(name);
    query[name] = values.length === 1 ? values[0] : values;
  }
  expect(operation.query?.safeParse(query).error ?? (operation.query === undefined ? query : {})).toEqual({});
  if (body !== undefined) expect(operation.body?.schema.safeParse(body).error).toBeUndefined();
}

describe('the client of issues', () => {
  it.each(Object.entries(calls))('sends %s as the operation accepts it', async (operationId, call) => {
    await expectOperation(issuesApi, operationId, (fetch) =>
      call(new IssuesClient({ baseUrl: 'http://issues.test/', token: 'a', fetch })),
    );
  });
});

describe('the client of identity', () => {
  it.each(Object.entries(identityCalls))(
    'sends %s as the operation accepts it',
    async (operationId, call) => {
      await expectOperation(identityApi, operationId, (fetch) =>
        call(new IdentityClient({ baseUrl: identityUrl, serviceToken: 'a', fetch })),
      );
    },
  );

  it('does not load in a browser', async () => {
    Reflect.set(globalThis, 'window', {});
    try {
      await expect(import(`../src/identity.ts?browser=${Date.now()}`)).rejects.toThrow('is for servers');
    } finally {
      Reflect.deleteProperty(globalThis, 'window');
    }
  });
});

describe('a session', () => {
  it.each(Object.entries(sessionCalls))('sends %s as the operation accepts it', async (operationId, call) => {
    await expectOperation(identityApi, operationId, call);
  });
});
