import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectRole, ProjectVisibility } from '@tessera/contracts';
import { issuesPaths } from '@tessera/contracts/requests';
import { eventually } from '@tessera/stack/eventually';
import { expectProblem } from '@tessera/testing/problems';
import type { Response } from 'supertest';
import { type Sight, sightOf } from '../src/issue-core/project-access.ts';
import { mayRead } from '../src/issue-store/sight.sql.ts';
import { type OpenedStream, openStream } from './support/event-stream.ts';
import { bytesOf, filePath, uploadFile } from './support/files.ts';
import { createIssue, issuePath, issuesPath } from './support/issues.ts';
import { untilNotified } from './support/notifications.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

type Operation = keyof typeof issuesPaths;
type Restricted = Exclude<ProjectVisibility, 'everyone'>;

/** A request with the parts of its path, its query and its body. */
interface Asked {
  params?: Record<string, string>;
  query?: string;
  body?: object;
  headers?: Record<string, string>;
}

/** An issue of a project that was open, and since then not: with texts and ids that only those who read it may see. */
interface World {
  key: string;
  issue: { id: string; number: number };
  comment: string;
  link: string;
  file: string;
  relation: string;
  open: { id: string; key: string };
  /** Texts and ids that show something of the issue or its project. */
  canaries: readonly string[];
  words: string;
  people: Record<Kind, TestPerson>;
  streams: Map<Kind, OpenedStream>;
  feedStart: string;
}

const kinds = [
  'outsider',
  'reporter',
  'removed',
  'viewer',
  'member',
  'manager',
  'staff',
  'superuser',
] as const;
type Kind = (typeof kinds)[number];

/** What a person sees of the issue. The reporter has reported it. */
const seen: Readonly<Record<Restricted, readonly Kind[]>> = {
  reporters: ['reporter', 'viewer', 'member', 'manager', 'staff', 'superuser'],
  members: ['viewer', 'member', 'manager', 'staff', 'superuser'],
  sealed: ['viewer', 'member', 'manager'],
};

/**
 * `reads`: a person who sees the issue finds a canary, others none. `writes`: others change nothing, and get the given status. A text
 * is the reason why the operation has nothing of an issue.
 */
type Rule =
  | { reads: (world: World) => Asked[]; isWithoutText?: boolean }
  | { writes: (world: World) => Asked[]; status: number; code: string }
  | string;

const named = ({ issue, key }: World): Asked[] =>
  [issue.id, `${key}-${issue.number}`, String(issue.number), `ISS-${issue.number}`].map((id) => ({
    params: { id },
  }));
const ofFile = ({ file }: World): Asked[] => [{ params: { attachment_id: file } }];
const change = (body: object, more: (world: World) => Record<string, string> = () => ({})) => ({
  writes: (world: World) =>
    named(world).map(({ params }) => ({ params: { ...params, ...more(world) }, body })),
  status: 404,
  code: 'issue_not_found',
});
const list = (world: World): Asked[] =>
  [
    '',
    `search=${world.words}`,
    `search=${world.key}-${world.issue.number}`,
    `id=${world.issue.id}`,
    `id=${world.key}-${world.issue.number}`,
    `project=${world.key}`,
    `reporter=${world.people.reporter.id}`,
    `assignee=${world.people.member.id}`,
    'watcher=me',
    `link=invoice:${world.canaries[3]}`,
    'ordering=title',
    'ordering=-priority,updated_at',
    'status=IN_PROGRESS&priority=HIGH',
  ].map((query) => ({ query }));
const nothing = 'has nothing of an issue';
const own = 'has only what the caller wrote';
const staffOnly = 'is for staff, and names no issue';
const ofDefault = 'is of the default project, which everyone reads';

const rules: Readonly<Record<Operation, Rule>> = {
  listIssues: { reads: list },
  listIssuePages: { reads: list },
  countIssues: 'is compared below, because it has no text',
  describeIssues: nothing,
  createIssue: {
    writes: ({ key }) => [{ body: { title: 'a', project: key } }],
    status: 422,
    code: 'validation_failed',
  },
  getIssue: { reads: named },
  updateIssue: change({ title: 'b', description: '', priority: 'LOW', assignee_id: null }),
  patchIssue: change({ title: 'b' }),
  changeIssueStatus: change({ status: 'CLOSED' }),
  changeIssues: 'is compared below, because it refuses each issue by itself',
  addComment: change({ body: 'c' }),
  listComments: { reads: named },
  getComment: {
    reads: (world) =>
      named(world).map(({ params }) => ({ params: { ...params, comment_id: world.comment } })),
  },
  updateComment: {
    ...change({ body: 'c' }, ({ comment }) => ({ comment_id: comment })),
    code: 'comment_not_found',
  },
  deleteComment: { ...change({}, ({ comment }) => ({ comment_id: comment })), code: 'comment_not_found' },
  putLink: change({ type: 'invoice', ref: 'x' }),
  deleteLink: change({}, ({ link }) => ({ link_id: link })),
  listRelations: {
    reads: ({ open }) => [{ params: { id: open.id } }],
  },
  putRelation: change({ kind: 'relates', direction: 'outgoing', issue: 'ISS-1' }),
  deleteRelation: change({}, ({ relation }) => ({ relation_id: relation })),
  uploadAttachment: {
    writes: (world) =>
      named(world).map(({ params }) => ({ query: `name=a&issue=${params?.id}`, body: { any: 'bytes' } })),
    status: 404,
    code: 'issue_not_found',
  },
  getAttachment: { reads: ofFile },
  getAttachmentContent: { reads: ofFile },
  deleteAttachment: {
    writes: ofFile,
    status: 404,
    code: 'attachment_not_found',
  },
  listAttachments: { reads: named },
  listActivity: { reads: (world) => [...named(world), { params: { id: world.open.id } }] },
  listEvents: { reads: ({ feedStart }) => [{ query: `after=${feedStart}` }] },
  streamEvents: 'is compared below, because it stays open',
  getWatching: { reads: named, isWithoutText: true },
  startWatching: change({}),
  stopWatching: change({}),
  listWatching: { reads: () => [{}], isWithoutText: true },
  listNotifications: {
    reads: ({ issue }) => [{}, { query: `issue=${issue.id}` }, { query: 'unread=true' }],
    isWithoutText: true,
  },
  markNotificationsRead: own,
  markNotificationsUnread: own,
  markNotificationsDone: own,
  restoreNotifications: own,
  snoozeNotifications: own,
  listLabels: nothing,
  createLabel: nothing,
  getLabel: nothing,
  updateLabel: nothing,
  deleteLabel: nothing,
  listProjects: { reads: () => [{}], isWithoutText: true },
  getProject: { reads: ({ key }) => [{ params: { key } }], isWithoutText: true },
  createProject: nothing,
  updateProject: {
    writes: ({ key }) => [{ params: { key }, body: { name: 'x' } }],
    status: 404,
    code: 'project_not_found',
  },
  listProjectMembers: { reads: ({ key }) => [{ params: { key } }], isWithoutText: true },
  putProjectMember: {
    writes: ({ key, people }) => [{ params: { key, user_id: people.outsider.id }, body: { role: 'member' } }],
    status: 404,
    code: 'project_not_found',
  },
  deleteProjectMember: {
    writes: ({ key, people }) => [{ params: { key, user_id: people.viewer.id } }],
    status: 404,
    code: 'project_not_found',
  },
  listProjectActivity: { reads: ({ key }) => [{ params: { key } }], isWithoutText: true },
  moveIssue: change({ project: 'ISS' }),
  listViews: own,
  createView: own,
  getView: own,
  updateView: own,
  deleteView: own,
  listWebhooks: staffOnly,
  createWebhook: staffOnly,
  getWebhook: staffOnly,
  updateWebhook: staffOnly,
  deleteWebhook: staffOnly,
  rotateWebhookSecret: staffOnly,
  testWebhook: staffOnly,
  listWebhookDeliveries: 'is compared below',
  getWebhookDelivery: 'has what the list of deliveries has',
  redeliverWebhook: staffOnly,
  getLiveness: nothing,
  getReadiness: nothing,
  getSyncState: { reads: named, isWithoutText: true },
  syncIssue: change({}),
  takeWebhook: ofDefault,
  resolveSyncConflict: { ...change({ keep: 'local' }, () => ({ conflict_id: randomUUID() })) },
  attachExternalIssue: change({ id: '1' }),
  detachExternalIssue: change({}),
  listIntegrations: ofDefault,
  retrySyncs: ofDefault,
  importIssues: ofDefault,
  getImport: ofDefault,
  backfillSyncs: ofDefault,
  listUsers: 'is compared below, because every user sees the names of people',
  getMe: nothing,
  updateMe: nothing,
  changeMyPassword: nothing,
  getUser: nothing,
  createUser: nothing,
  updateUser: nothing,
  patchUser: nothing,
  deactivateUser: nothing,
};

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

// Every user sees something of the last one, so it comes after the others.
const visibilities: readonly Restricted[] = ['members', 'sealed', 'reporters'];
describe.each(visibilities)('an issue of a project whose visibility is %s', (visibility) => {
  let world: World;
  let blind: readonly Kind[];
  beforeAll(async () => {
    world = await aWorld(visibility);
    blind = kinds.filter((kind) => !seen[visibility].includes(kind));
  });
  afterAll(() => {
    for (const stream of world.streams.values()) stream.close();
  });

  const operations = Object.entries(rules) as [Operation, Rule][];
  const reading = operations.flatMap(([id, rule]) =>
    typeof rule === 'object' && 'reads' in rule ? [[id, rule] as const] : [],
  );
  it.each(reading)(
    '%s shows it to those who see it, and to no others',
    async (id, { reads, isWithoutText }) => {
      for (const asked of reads(world)) {
        for (const kind of blind) {
          const response = await send(world, kind, id, asked);
          expect([kind, response.status]).not.toEqual([kind, 500]);
          expect([kind, leaked(response, asked)]).toEqual([kind, []]);
        }
        const mayBeRefused = visibility === 'reporters' && id.startsWith('listProject');
        for (const kind of seen[visibility]) {
          if (kind === 'reporter' && mayBeRefused) continue;
          const response = await send(world, kind, id, asked);
          expect([kind, asked, response.status]).toEqual([kind, asked, 200]);
        }
        if (isWithoutText || asked.query === 'watcher=me') continue;
        const found = await send(world, 'member', id, asked);
        expect([asked, leaked(found, {})]).not.toEqual([asked, []]);
      }
    },
  );

  const writing = operations.flatMap(([id, rule]) =>
    typeof rule === 'object' && 'writes' in rule ? [[id, rule] as const] : [],
  );
  it.each(writing)('%s is refused as if there was none', async (id, { writes, status, code }) => {
    const before = await stateOf(world);
    for (const asked of writes(world)) {
      for (const kind of blind) {
        const response = await send(world, kind, id, asked);
        if (id === 'createIssue' && visibility === 'reporters') continue;
        if (id.includes('Project') && visibility === 'reporters') expectProblem(response, 403, 'forbidden');
        else expectProblem(response, status, code);
        expect([kind, leaked(response, asked)]).toEqual([kind, []]);
      }
    }
    const issues = visibility === 'reporters' && id === 'createIssue' ? blind.length : 0;
    const after = await stateOf(world);
    expect({ ...after, issues: Number(after?.issues) - issues }).toEqual({
      ...before,
      issues: Number(before?.issues),
    });
  });

  it('is in no count, no bulk result, no list of people and no delivery of those who do not see it', async () => {
    const { people, issue, key, words } = world;
    const told = await app.sql(
      `SELECT DISTINCT identity_id AS id FROM notifications n JOIN events e ON e.id = n.event_id
        WHERE issue_id = $1 AND e.at > (SELECT max(at) FROM project_activity WHERE field = 'visibility')`,
      [issue.id],
    );
    const toldKinds = kinds.filter((kind) => told.some(({ id }) => id === people[kind].id));
    expect(toldKinds.filter((kind) => blind.includes(kind))).toEqual([]);
    expect(toldKinds).toContain('member');
    const readers = await people.member.get(`/api/v1/users/?can_read=${issue.id}`).expect(200);
    const ids = readers.body.map(({ id }: { id: string }) => id);
    for (const kind of kinds)
      expect([kind, ids.includes(people[kind].id)]).toEqual([kind, seen[visibility].includes(kind)]);
    for (const kind of blind) {
      const person = people[kind];
      for (const by of ['status', 'priority', 'assignee']) {
        const { body } = await person.get(`${issuesPath}counts/?by=${by}&search=${words}`).expect(200);
        expect([kind, by, body.counts.filter(({ count }: { count: number }) => count > 0)]).toEqual([
          kind,
          by,
          [],
        ]);
      }
      const page = await person.get(`${issuesPath}?search=${words}`).expect(200);
      expect(page.headers['x-total-count']).toBe('0');
      const ids = [issue.id, `${key}-${issue.number}`, String(issue.number)];
      const { body } = await person.post(`${issuesPath}bulk/`, { ids, priority: 'LOW' }).expect(200);
      expect(body.results.map(({ code }: { code: string }) => code)).toEqual(
        ids.map(() => 'issue_not_found'),
      );
      expect((await person.get(`/api/v1/users/?can_read=${issue.id}`).expect(200)).body).toEqual([]);
      const relation = { kind: 'relates', direction: 'outgoing', issue: issue.id };
      const mine = await createIssue(person);
      expectProblem(await person.post(issuePath(mine, 'relations/'), relation), 422, 'validation_failed');
      const moved = await person.post(issuePath(mine, 'move/'), { project: key });
      expectRefused(moved, visibility, 'validation_failed');
      expectRefused(
        await people.member.patch(issuePath(issue), { assignee_id: person.id }),
        visibility,
        'cannot_read',
      );
    }
    const rows = await app.sql(
      'SELECT DISTINCT e.description FROM webhook_deliveries d JOIN webhook_endpoints e ON e.id = d.endpoint_id WHERE d.subject_id = $1 AND d.event_at > (SELECT max(at) FROM project_activity WHERE field = $2)',
      [issue.id, 'visibility'],
    );
    const sent = visibility === 'sealed' ? [] : [`only ${key}`];
    expect(rows.map(({ description }) => description).sort()).toEqual(sent);
  });

  it('has a project whose key leads to no issue, also to none that everyone sees, for those who do not see it', async () => {
    const { key, open, people } = world;
    const name = `${key}-${open.key.replace('ISS-', '')}`;
    for (const kind of kinds) {
      const person = people[kind];
      const isLed = !blind.includes(kind) || visibility === 'reporters';
      const read = await person.get(`${issuesPath}${name}/`);
      expect([kind, read.status, read.body.code]).toEqual([
        kind,
        ...(isLed ? [200, undefined] : [404, 'issue_not_found']),
      ]);
      for (const query of [`id=${name}`, `search=${name}`]) {
        const { body } = await person.get(`${issuesPath}?${query}`).expect(200);
        const ids = body.map(({ id }: { id: string }) => id);
        expect([kind, query, ids]).toEqual([kind, query, isLed ? [open.id] : []]);
      }
      const changed = await person.post(`${issuesPath}bulk/`, { ids: [name], priority: 'LOW' }).expect(200);
      expect([kind, changed.body.results[0].code === 'issue_not_found']).toEqual([kind, !isLed]);
    }
  });

  it('is in no line of the log and in no metric', async () => {
    const written = [...app.log, await app.dependencies.metrics.registry.metrics()].join('\n');
    expect(written.includes('"route":"/api/v1/issues/:id/"')).toBe(true);
    expect(world.canaries.filter((one) => written.includes(one))).toEqual([]);
  });

  it('has no file any more for a member who has left, at once', async () => {
    const { people, key, file } = world;
    const member = people.viewer;
    const put = `/api/v1/projects/${key}/members/${member.id}/`;
    await member.get(filePath({ id: file }, 'content/')).expect(200);
    await people.manager.delete(put).expect(204);
    for (const part of ['', 'content/'])
      expectProblem(await member.get(filePath({ id: file }, part)), 404, 'attachment_not_found');
    await people.manager.put(put, { role: 'viewer' }).expect(201);
    await member.get(filePath({ id: file }, 'content/')).expect(200);
  });

  it('streams no event to those who do not see it, and is not compressed for those who do', async () => {
    for (const [kind, stream] of world.streams) {
      const isSent = stream.text().includes(world.issue.id);
      expect([kind, isSent]).toEqual([kind, seen[visibility].includes(kind) && kind !== 'reporter']);
    }
    const { removed, manager } = world.people;
    const opened = new Map<Kind, OpenedStream>();
    for (const kind of ['removed', 'outsider', 'reporter'] as const)
      opened.set(kind, await openStream(app.url, world.people[kind]));
    const told = () =>
      [...opened].flatMap(([kind, stream]) => (stream.text().includes('access.changed') ? [kind] : []));
    const project = `/api/v1/projects/${world.key}/`;
    const created = `N${randomBytes(4).toString('hex')}`.toUpperCase();
    await manager.post('/api/v1/projects/', { key: created, name: 'New' }).expect(201);
    await manager.put(`${project}members/${removed.id}/`, { role: 'viewer' }).expect(201);
    await eventually(() => told().includes('removed'));
    expect(told()).toEqual(['removed']);
    await manager.delete(`${project}members/${removed.id}/`).expect(204);
    await manager.patch(`/api/v1/projects/${created}/`, { visibility: 'everyone' }).expect(200);
    await eventually(() => told().length === 3);
    for (const stream of opened.values()) stream.close();
    const gzipped = async (kind: Kind, path: string) =>
      (await world.people[kind].get(path).set('Accept-Encoding', 'gzip')).headers['content-encoding'];
    const path = `${issuesPath}?limit=50`;
    expect(await gzipped('member', path)).toBeUndefined();
    expect(await gzipped('outsider', path)).toBe(visibility === 'reporters' ? undefined : 'gzip');
  });
});

/** Everyone may report issues to a project with reporters, and read those that are assigned to them. */
function expectRefused(response: Response, visibility: Restricted, code: string) {
  if (visibility === 'reporters') expect(response.status).toBe(200);
  else expectProblem(response, 422, code);
}

async function send(
  world: World,
  kind: Kind,
  id: Operation,
  { params = {}, query, body }: Asked,
): Promise<Response> {
  const [method = '', template = ''] = issuesPaths[id].split(' ');
  const path = template.replace(/:(\w+)/g, (_, name) => encodeURIComponent(params[name] ?? ''));
  const person = world.people[kind];
  const target = query === undefined ? path : `${path}?${query}`;
  const by = method.toLowerCase() as 'get' | 'post' | 'put' | 'patch' | 'delete';
  if (id === 'getAttachmentContent') return withText(await person.get(target).buffer(true).parse(bytesOf));
  return by === 'get' || by === 'delete' ? person[by](target) : person[by](target, body);
}

/** The bytes of a file, or an error, as the text of its response. */
function withText(response: Response): Response {
  return Object.assign(response, { text: String(response.body), body: problemIn(response) });
}

function problemIn({ body, status }: Response): unknown {
  return status >= 400 ? JSON.parse(String(body)) : body;
}

/** The canaries that a response has and its request has not. */
function leaked({ text, headers }: Response, asked: Asked): string[] {
  const request = JSON.stringify(asked).toLowerCase();
  const { world: _, ...shown } = headers;
  const response = `${text} ${JSON.stringify(shown)}`.toLowerCase();
  return current.canaries.filter(
    (one) => response.includes(one.toLowerCase()) && !request.includes(one.toLowerCase()),
  );
}
let current: World;

async function stateOf({ issue, key }: World) {
  const rows = await app.sql(
    `SELECT i.rev, (SELECT count(*) FROM comments WHERE issue_id = i.id) AS comments, (SELECT count(*) FROM issue_links WHERE issue_id = i.id) AS links,
            (SELECT count(*) FROM attachments a WHERE a.issue_id = i.id AND state = 'stored') AS files,
            (SELECT count(*) FROM issue_relations WHERE i.id IN (source_id, target_id)) AS relations, (SELECT count(*) FROM issue_watchers w WHERE w.issue_id = i.id AND w.is_watching) AS watchers,
            (SELECT count(*) FROM project_members m WHERE m.project_id = i.project_id) AS members, (SELECT count(*) FROM issues WHERE project_id = i.project_id) AS issues, p.version
       FROM issues i JOIN projects p ON p.id = i.project_id JOIN project_keys k ON k.project_id = p.id WHERE i.id = $1 AND k.key = $2`,
    [issue.id, key],
  );
  return rows[0];
}

async function aWorld(visibility: Restricted): Promise<World> {
  const word = () => `z${randomBytes(5).toString('hex')}`;
  const key = `Z${randomBytes(4).toString('hex')}`.toUpperCase();
  const [title, description, comment, invoice, name] = [word(), word(), word(), word(), word()];
  const [fileName, fileText] = [word(), word()];
  const rights: Partial<Record<Kind, object>> = {
    manager: { is_staff: true },
    staff: { is_staff: true },
    superuser: { is_staff: true, is_superuser: true },
  };
  const entries = await Promise.all(
    kinds.map(async (kind) => [kind, await aPerson(app, rights[kind])] as const),
  );
  const people = Object.fromEntries(entries) as Record<Kind, TestPerson>;
  const { outsider, reporter, removed, viewer, member, manager, superuser } = people;
  await manager.post('/api/v1/projects/', { key, name, visibility: 'everyone' }).expect(201);
  const put = (person: TestPerson, role: ProjectRole) =>
    manager.put(`/api/v1/projects/${key}/members/${person.id}/`, { role });
  await put(viewer, 'viewer').expect(201);
  await put(member, 'member').expect(201);
  await put(removed, 'member').expect(201);
  await superuser
    .post('/api/v1/webhooks/', {
      url: 'https://receiver.invalid/',
      description: `only ${key}`,
      projects: [key],
    })
    .expect(201);
  await superuser
    .post('/api/v1/webhooks/', { url: 'https://receiver.invalid/', description: 'all' })
    .expect(201);

  const open = await createIssue(member);
  const issue = await createIssue(reporter, { title: 'before', project: key });
  for (const person of [outsider, removed]) {
    await person.put(issuePath(issue, 'watch/')).expect(200);
    await person.post(issuePath(issue, 'comments/'), { body: 'I see it' }).expect(201);
  }
  await manager.delete(`/api/v1/projects/${key}/members/${removed.id}/`).expect(204);
  await untilNotified(app);
  const feed = await manager.get('/api/v1/events/?after=now').expect(200);
  await manager.patch(`/api/v1/projects/${key}/`, { visibility }).expect(200);

  const streams = new Map<Kind, OpenedStream>();
  for (const kind of kinds) streams.set(kind, await openStream(app.url, people[kind]));
  const text = `${description} @${outsider.username}`;
  await manager
    .patch(issuePath(issue), { title, description: text, assignee_id: member.id, priority: 'HIGH' })
    .expect(200);
  await member.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }).expect(200);
  const added = await member
    .post(issuePath(issue, 'comments/'), { body: `${comment} @${outsider.username}` })
    .expect(201);
  const file = await uploadFile(member, Buffer.from(fileText), `${fileName}.txt`, `&issue=${issue.id}`);
  const link = await member.post(issuePath(issue, 'links/'), { type: 'invoice', ref: invoice }).expect(201);
  const relation = await member
    .post(issuePath(issue, 'relations/'), { kind: 'relates', direction: 'outgoing', issue: open.id })
    .expect(201);
  await untilNotified(app);
  await streams.get('manager')?.until(6);
  current = {
    key,
    issue,
    comment: added.body.id,
    link: link.body.id,
    file: file.id,
    relation: relation.body.id,
    open,
    // Every user sees a project to which every user reports.
    canaries: [
      ...[title, description, comment, invoice, issue.id, added.body.id, link.body.id, file.id],
      ...[fileName, fileText],
      ...(visibility === 'reporters' ? [] : [name, key]),
    ],
    words: title,
    people,
    streams,
    feedStart: feed.body.next,
  };
  return current;
}

describe('the two decisions of who reads', () => {
  it('are the same for every visibility, role and right', async () => {
    const cases: [Restricted, ProjectRole | undefined, boolean, Sight][] = [];
    for (const visibility of visibilities)
      for (const role of [undefined, 'viewer', 'member', 'manager'] as const)
        for (const isStaff of [false, true])
          cases.push([visibility, role, isStaff, sightOf({ visibility, role }, isStaff)]);
    for (const [visibility, role, isStaff, sight] of cases) {
      const person = await aPerson(app, { is_staff: isStaff });
      await person.get('/api/v1/users/me/').expect(200);
      const id = randomUUID();
      await app.sql(
        `INSERT INTO projects (id, key, name, visibility) VALUES ($1, $2, 'x', $3::project_visibility)`,
        [id, `Y${randomBytes(4).toString('hex')}`.toUpperCase(), visibility],
      );
      if (role !== undefined)
        await app.sql(
          `INSERT INTO project_members (project_id, user_id, role) VALUES ($1, $2, $3::project_role)`,
          [id, person.id, role],
        );
      const reads = async (reporter: string) =>
        (
          await app.sql(
            `SELECT ${mayRead('$2::uuid').sql} AS reads FROM (VALUES ($1::uuid, $3::uuid, NULL::uuid)) i (project_id, reporter_id, assignee_id)`,
            [id, person.id, reporter],
          )
        )[0]?.reads;
      const both = [await reads(randomUUID()), await reads(person.id)];
      expect([visibility, role, isStaff, ...both]).toEqual([
        visibility,
        role,
        isStaff,
        sight === 'all',
        sight !== 'none',
      ]);
    }
  });
});

// Another replica has just changed members or projects: the statements of the test do so, and this process does not hear of them.
describe('a write by a person whose rights have changed since this process read them', () => {
  let key: string;
  let open: string;
  let issue: { id: string; number: number };
  let mine: { id: string };
  let max: TestPerson;
  let owner: TestPerson;
  let superuser: TestPerson;
  const aKey = () => `X${randomBytes(4).toString('hex')}`.toUpperCase();
  beforeAll(async () => {
    [max, owner] = [await aPerson(app), await aPerson(app, { is_staff: true })];
    superuser = await aPerson(app, { is_staff: true, is_superuser: true });
    [key, open] = [aKey(), aKey()];
    await owner.post('/api/v1/projects/', { key, name: 'Closed' }).expect(201);
    await owner.post('/api/v1/projects/', { key: open, name: 'Open', visibility: 'everyone' }).expect(201);
    await owner.put(`/api/v1/projects/${key}/members/${max.id}/`, { role: 'member' }).expect(201);
    issue = await createIssue(owner, { title: 'Closed', project: key });
    mine = await createIssue(max);
  });

  const writes: Record<string, (person: TestPerson) => Promise<Response>> = {
    'a comment': async (person) => person.post(issuePath(issue, 'comments/'), { body: 'late' }),
    'a title': async (person) => person.patch(issuePath(issue), { title: randomUUID() }),
    'a status': async (person) => person.post(issuePath(issue, 'status/'), { status: 'IN_PROGRESS' }),
    'a move out of it': async (person) => person.post(issuePath(issue, 'move/'), { project: open }),
    'a move into it': async (person) => person.post(issuePath(mine, 'move/'), { project: key }),
    'a link': async (person) =>
      person.post(issuePath(issue, 'links/'), { type: 'invoice', ref: randomUUID() }),
    'a new issue': async (person) => person.post(issuesPath, { title: 'late', project: key }),
    'a relation': async (person) =>
      person.post(issuePath(issue, 'relations/'), { kind: 'relates', direction: 'outgoing', issue: mine.id }),
    'a file': async (person) =>
      person.post(`/api/v1/attachments/?name=a&issue=${issue.id}`, { any: 'bytes' }),
    'a bulk change': async (person) =>
      person.post(`${issuesPath}bulk/`, { ids: [issue.id], priority: 'LOW' }),
    'a watch': async (person) => person.put(issuePath(issue, 'watch/')),
  };
  const traces = async () =>
    app.sql(
      `SELECT i.rev, i.project_id, (SELECT count(*) FROM issues WHERE project_id = p.id) AS issues,
              (SELECT count(*) FROM issue_watchers WHERE issue_id = i.id) AS watchers
         FROM projects p, issues i WHERE p.key = $1 AND i.id = $2`,
      [key, issue.id],
    );
  const role = 'UPDATE project_members SET role = $2::project_role WHERE user_id = $1';
  /** Runs a request after a change of which the process does not know, which is taken back. */
  const unheard = async (
    person: TestPerson,
    [change, back]: readonly [() => Promise<unknown>, () => Promise<unknown>],
    request: (person: TestPerson) => Promise<Response>,
  ) => {
    app.dependencies.access.forget();
    await person.get(issuePath(issue)).expect(200);
    await change();
    const response = await request(person);
    await back();
    app.dependencies.access.forget();
    return response;
  };
  const isRefused = ({ status, body }: Response) =>
    status === 200 ? body.results?.[0].code === 'issue_not_found' : [404, 409, 422].includes(status);
  const removed = [
    () => app.sql('DELETE FROM project_members WHERE user_id = $1', [max.id]),
    () =>
      app.sql(
        `INSERT INTO project_members (project_id, user_id, role) SELECT id, $2::uuid, 'member'::project_role FROM projects WHERE key = $1`,
        [key, max.id],
      ),
  ] as const;
  const visibility = async (value: string) =>
    app.sql('UPDATE projects SET visibility = $2::project_visibility WHERE key = $1', [key, value]);

  it.each(Object.entries(writes))('%s is refused after a removal and after sealing', async (_, write) => {
    const before = await traces();
    expect(isRefused(await unheard(max, removed, write))).toBe(true);
    const sealed = [() => visibility('sealed'), () => visibility('members')] as const;
    const response = await unheard(superuser, sealed, write);
    // The issue that moves is not theirs.
    expect(isRefused(response)).toBe(true);
    expect(await traces()).toEqual(before);
  });

  it('reads no file any more after a removal and after sealing', async () => {
    const file = await uploadFile(owner, randomBytes(100), 'a', `&issue=${issue.id}`);
    const read = async (person: TestPerson) => person.get(filePath(file, 'content/'));
    expect((await read(max)).status).toBe(200);
    expectProblem(await unheard(max, removed, read), 404, 'attachment_not_found');
    const sealed = [() => visibility('sealed'), () => visibility('members')] as const;
    expectProblem(await unheard(superuser, sealed, read), 404, 'attachment_not_found');
    expect((await read(superuser)).status).toBe(200);
  });

  it('gives no one else the right to read an issue, if its author has no role', async () => {
    const project = aKey();
    await owner.post('/api/v1/projects/', { key: project, name: 'x', visibility: 'reporters' }).expect(201);
    await owner.put(`/api/v1/projects/${project}/members/${max.id}/`, { role: 'viewer' }).expect(201);
    const [reporter, other] = [await aPerson(app), await aPerson(app)];
    await other.get('/api/v1/users/me/').expect(200);
    const own = await createIssue(reporter, { project });
    const assign = (person: TestPerson, id: string) => person.patch(issuePath(own), { assignee_id: id });
    expectProblem(await assign(reporter, other.id), 422, 'cannot_read');
    const draft = { title: 'a', project, assignee_id: other.id };
    expectProblem(await reporter.post(issuesPath, draft), 422, 'cannot_read');
    const bulk = { ids: [own.id], assignee_id: other.id };
    const { body } = await reporter.post(`${issuesPath}bulk/`, bulk).expect(200);
    expect(body.results).toMatchObject([{ outcome: 'refused', code: 'cannot_read' }]);
    const listed = await reporter
      .get(`/api/v1/users/?can_read=${own.id}&ids=${max.id},${other.id}`)
      .expect(200);
    expect(listed.body.map(({ id }: { id: string }) => id)).toEqual([max.id]);
    for (const id of [max.id, reporter.id, owner.id]) await assign(reporter, id).expect(200);
    await assign(owner, other.id).expect(200);
    // An assignee hands it back.
    await assign(other, reporter.id).expect(200);
  });

  it.each(['viewer', undefined] as const)(
    'is refused to a reporter and assignee who is now %s',
    async (now) => {
      const own = await createIssue(max, { project: key, assignee_id: max.id });
      const member = `/api/v1/projects/${key}/members/${max.id}/`;
      if (now === undefined) await owner.delete(member).expect(204);
      else await owner.put(member, { role: now }).expect(200);
      const late = [
        await max.patch(issuePath(own), { title: 'late' }),
        await max.patch(issuePath(own), { assignee_id: null }),
        await max.post(issuePath(own, 'status/'), { status: 'IN_PROGRESS' }),
        await max.post(issuePath(own, 'move/'), { project: open }),
        await max.post(issuePath(own, 'links/'), { type: 'invoice', ref: '1' }),
      ];
      for (const response of late)
        if (now === undefined) expectProblem(response, 404, 'issue_not_found');
        else expectProblem(response, 403, 'forbidden');
      expect((await max.post(issuePath(own, 'comments/'), { body: 'c' })).status).toBe(now ? 201 : 404);
      await owner.put(member, { role: 'member' });
    },
  );

  it('is decided by the present role, and by that at the end of an upload', async () => {
    const demoted = [
      () => app.sql(role, [max.id, 'viewer']),
      () => app.sql(role, [max.id, 'member']),
    ] as const;
    const write = (name: string) => writes[name] ?? (() => Promise.reject(new Error(name)));
    expectProblem(await unheard(max, demoted, write('a title')), 403, 'forbidden');
    expectProblem(await unheard(max, demoted, write('a new issue')), 403, 'forbidden');
    expect((await unheard(max, demoted, write('a comment'))).status).toBe(201);
    const promoted = [demoted[1], demoted[0]] as const;
    await demoted[0]();
    expect((await unheard(max, promoted, write('a comment'))).status).toBe(201);
    await demoted[1]();
    app.dependencies.access.forget();
    const upload = await unheard(max, removed, write('a file'));
    expectProblem(upload, 409, 'request_in_progress');
    expect(upload.headers['retry-after']).toBe('1');
  });
});
