import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Issue, type Project, projectSchema } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import type { Response } from 'supertest';
import { startFakeTracker } from './support/fake-tracker.ts';
import { filePath, uploadFile } from './support/files.ts';
import { createIssue, getIssue, historyOf, issuePath, issuesPath } from './support/issues.ts';
import { notificationsPath, readNotifications, untilNotified } from './support/notifications.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
let staff: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  [ann, bob] = [await aPerson(app), await aPerson(app)];
  staff = await aPerson(app, { is_staff: true });
});
afterAll(() => app.close());

const projectsPath = '/api/v1/projects/';
const pagesPath = '/api/v1/issue-pages/';
const projectPath = (key: string) => `${projectsPath}${key}/`;
const keys = Array.from({ length: 100 }, (_, index) => `P${index}`).values();
const aKey = () => String(keys.next().value);

async function createProject(body: object = {}): Promise<Project> {
  const response = await staff
    .post(projectsPath, { key: aKey(), name: 'Apps', visibility: 'everyone', ...body })
    .expect(201);
  return projectSchema.parse(response.body);
}

const move = (person: TestPerson, issue: Pick<Issue, 'id'>, project: string) =>
  person.post(issuePath(issue, 'move/'), { project });
const keysOf = async (query: string, path = issuesPath): Promise<string[]> => {
  const { body } = await ann.get(`${path}?${query}&fields=key`).expect(200);
  return (path === pagesPath ? body.results : body).map(({ key }: Issue) => key);
};

describe('/api/v1/projects/', () => {
  it('creates, reads, lists, renames and archives projects', async () => {
    const [key, next] = [aKey(), aKey()];
    const response = await staff
      .post(projectsPath, { key: key.toLowerCase(), name: ' Apps ', visibility: 'everyone' })
      .expect(201);
    expect(response.body).toMatchObject({ key, name: 'Apps', version: 1, is_default: false });
    expect(response.headers.location).toContain(projectPath(key));
    const read = await ann.get(projectPath(key)).expect(200);
    expect([read.body, read.headers.etag]).toEqual([response.body, response.headers.etag]);
    await ann
      .get(projectPath(key))
      .set('If-None-Match', read.headers.etag ?? '')
      .expect(304);
    const { body: list } = await ann.get(projectsPath).expect(200);
    expect(list[0]).toMatchObject({ key: 'ISS', name: 'Default project', is_default: true });
    expect(list).toContainEqual(read.body);

    const renamed = await staff.patch(projectPath(key), { key: next, name: 'New' }).expect(200);
    expect(renamed.body).toMatchObject({ id: read.body.id, key: next, name: 'New', version: 2 });
    expect((await ann.get(projectPath(key)).expect(200)).body).toEqual(renamed.body);
    const same = await staff.patch(projectPath(next), { name: 'New' }).expect(200);
    expect(same.body).toEqual(renamed.body);
    const archived = await staff.patch(projectPath(next), { is_archived: true }).expect(200);
    expect(archived.body).toMatchObject({ is_archived: true, version: 3 });
    expect(archived.body.mail_text).toBe('title');
    expectProblem(await ann.get(projectPath('NONE')), 404, 'project_not_found');
    expectInvalidFields(await ann.get(projectPath('a-b')), ['key']);
  });

  it('is made without a trace in the lists of those who do not see it', async () => {
    const read = await ann.get(`${issuesPath}?limit=1`).expect(200);
    await createProject({ visibility: 'sealed' });
    await ann
      .get(`${issuesPath}?limit=1`)
      .set('If-None-Match', read.headers.etag ?? '')
      .expect(304);
  });

  it('says what mails about its issues contain', async () => {
    const { key, mail_text } = await createProject({ mail_text: 'full' });
    expect(mail_text).toBe('full');
    const { body } = await staff.patch(projectPath(key), { mail_text: 'none', version: 1 }).expect(200);
    expect(body).toMatchObject({ mail_text: 'none', visibility: 'everyone', version: 2 });
    expect((await staff.patch(projectPath(key), { mail_text: 'none' }).expect(200)).body).toEqual(body);
    expect((await staff.patch(projectPath('ISS'), { mail_text: 'full' }).expect(200)).body.mail_text).toBe(
      'full',
    );
    const { body: history } = await staff.get(`${projectPath(key)}activity/`).expect(200);
    expect(history).toMatchObject([
      { kind: 'updated', field: 'mail_text', old: 'full', new: 'none', actor: { id: staff.id } },
      { kind: 'created' },
    ]);
    for (const invalid of ['all', '', null, 1]) {
      expectInvalidFields(await staff.patch(projectPath(key), { mail_text: invalid }), ['mail_text']);
      const draft = { key: aKey(), name: 'x', mail_text: invalid };
      expectInvalidFields(await staff.post(projectsPath, draft), ['mail_text']);
    }
  });

  it('is changed by staff only, and reads are for everyone', async () => {
    const { key } = await createProject();
    for (const response of [
      await ann.post(projectsPath, { key: aKey(), name: 'x' }),
      await ann.patch(projectPath(key), { name: 'x' }),
    ])
      expectProblem(response, 403, 'forbidden');
  });

  it('never gives a key to another project, also not a former one or the configured prefix', async () => {
    const former = aKey();
    const project = await createProject({ key: former });
    await staff.patch(projectPath(former), { key: aKey() }).expect(200);
    const other = await createProject();
    for (const key of [former, 'ISS', other.key.toLowerCase()])
      expectProblem(await staff.post(projectsPath, { key, name: 'x' }), 409, 'project_key_taken');
    for (const key of [former, 'ISS'])
      expectProblem(await staff.patch(projectPath(other.key), { key }), 409, 'project_key_taken');
    const back = await staff.patch(projectPath(former), { key: former }).expect(200);
    expect(back.body).toMatchObject({ id: project.id, key: former, version: 3 });
  });

  it('has a bound on memberships of projects that are not open, and the creator always as a manager', async () => {
    const busy = await aPerson(app, { is_staff: true });
    await app.sql(
      `WITH p AS (INSERT INTO projects (id, key, name, visibility)
         SELECT gen_random_uuid(), 'BUSY' || n, 'x', 'members'::project_visibility FROM generate_series(1, 200) n RETURNING id)
       INSERT INTO project_members (project_id, user_id, role) SELECT id, $1::uuid, 'viewer'::project_role FROM p`,
      [busy.id],
    );
    const key = aKey();
    for (const visibility of ['reporters', 'members', 'sealed'])
      for (const idempotency of [randomUUID(), undefined]) {
        const test = busy.post(projectsPath, { key, name: 'x', visibility });
        const refused = await (idempotency === undefined ? test : test.set('Idempotency-Key', idempotency));
        expectProblem(refused, 422, 'too_many_projects');
      }
    expectProblem(await busy.get(projectPath(key)), 404, 'project_not_found');
    await busy.post(projectsPath, { key, name: 'x', visibility: 'everyone' }).expect(201);
    const { body } = await busy.get(`${projectPath(key)}members/`).expect(200);
    expect(body).toMatchObject([{ user: { id: busy.id }, role: 'manager' }]);
    await busy.patch(projectPath(key), { visibility: 'sealed' }).expect(200);
    await app.sql(`DELETE FROM project_members WHERE user_id = $1`, [busy.id]);
    await app.sql(`DELETE FROM projects WHERE key LIKE 'BUSY%'`);
  });

  it('lets its managers delete comments and files of others; in a sealed one, staff only by their role', async () => {
    const [manager, member, viewer] = [await aPerson(app), ann, await aPerson(app, { is_staff: true })];
    const { key } = await createProject({ visibility: 'members' });
    const put = (person: TestPerson, role: string) =>
      staff.put(`${projectPath(key)}members/${person.id}/`, { role }).expect(201);
    await put(manager, 'manager');
    await put(member, 'member');
    await put(viewer, 'viewer');
    const issue = await createIssue(member, { project: key });
    const added = async () => {
      const file = await uploadFile(member, undefined, 'a', `&issue=${issue.key}`);
      const { body } = await member.post(issuePath(issue, 'comments/'), { body: 'a' }).expect(201);
      return [filePath(file), issuePath(issue, `comments/${body.id}/`)];
    };
    for (const path of await added()) await viewer.delete(path).expect(204);
    await manager.patch(projectPath(key), { visibility: 'sealed' }).expect(200);
    for (const path of await added()) {
      expectProblem(await viewer.delete(path), 403, 'forbidden');
      await manager.delete(path).expect(204);
    }
    await manager.put(`${projectPath(key)}members/${bob.id}/`, { role: 'member' }).expect(201);
    for (const path of await added()) expectProblem(await bob.delete(path), 403, 'forbidden');
  });

  it('marks and counts no notification of its issues for a person who was removed', async () => {
    const person = await aPerson(app);
    const { key } = await createProject({ visibility: 'members' });
    const member = `${projectPath(key)}members/${person.id}/`;
    await staff.put(member, { role: 'member' }).expect(201);
    await createIssue(staff, { project: key, assignee_id: person.id });
    await createIssue(staff, { assignee_id: person.id });
    await untilNotified(app);
    const [open, ...hidden] = await readNotifications(person);
    expect(hidden).toHaveLength(1);
    await staff.delete(member).expect(204);
    const rows = () =>
      app.sql(
        'SELECT id, read_at, done_at, snoozed_until FROM notifications WHERE identity_id = $1 ORDER BY id',
        [person.id],
      );
    const ids = (await rows()).map(({ id }) => Number(id));
    const before = await rows();
    for (const [mark, body] of [
      ['read', {}],
      ['unread', {}],
      ['done', {}],
      ['restore', {}],
      ['snooze', { until: new Date(Date.now() + 3_600_000).toISOString() }],
      ['restore', {}],
    ] as const) {
      const { body: answer } = await person
        .post(`${notificationsPath}${mark}/`, { ids, ...body })
        .expect(200);
      const { headers } = await person.get(notificationsPath).expect(200);
      expect([mark, String(answer.unread_count)]).toEqual([mark, headers['x-unread-count']]);
    }
    const hiddenRows = (all: Record<string, unknown>[]) => all.filter(({ id }) => Number(id) !== open?.id);
    expect(hiddenRows(await rows())).toEqual(hiddenRows(before));
  });

  it('keeps a manager who is active, and needs one to be sealed', async () => {
    const { key } = await createProject({ visibility: 'members' });
    const gone = await aPerson(app);
    const member = (person: TestPerson) => `${projectPath(key)}members/${person.id}/`;
    await staff.put(member(gone), { role: 'manager' }).expect(201);
    await app.sql('UPDATE identity_mirror SET is_active = false WHERE id = $1', [gone.id]);
    expectProblem(await staff.put(member(staff), { role: 'viewer' }), 409, 'last_manager');
    expectProblem(await staff.delete(member(staff)), 409, 'last_manager');
    await app.sql(
      'DELETE FROM project_members m USING projects p WHERE p.id = m.project_id AND p.key = $1 AND user_id = $2',
      [key, staff.id],
    );
    expectProblem(await staff.patch(projectPath(key), { visibility: 'sealed' }), 409, 'last_manager');
    await staff.put(member(staff), { role: 'manager' }).expect(201);
    await staff.delete(member(gone)).expect(204);
    await staff.patch(projectPath(key), { visibility: 'sealed' }).expect(200);
  });

  it('has a bound on keys, and a default project whose key is configured', async () => {
    const { key } = await createProject();
    for (let count = 1; count < 20; count += 1)
      await staff.patch(projectPath(key), { key: `${key}X${count}` }).expect(200);
    expectInvalidFields(await staff.patch(projectPath(key), { key: `${key}X20` }), ['key']);
    await staff.patch(projectPath(key), { key }).expect(200);
    expectInvalidFields(await staff.patch(projectPath('ISS'), { key: aKey() }), ['key']);
    expectInvalidFields(await staff.patch(projectPath('ISS'), { is_archived: true }), ['is_archived']);
    await staff.patch(projectPath('ISS'), { name: 'All else', key: 'iss' }).expect(200);
    expect((await createIssue(ann)).project.name).toBe('All else');
  });

  it('refuses changes of another state', async () => {
    const { key } = await createProject();
    const { headers } = await ann.get(projectPath(key)).expect(200);
    await staff.patch(projectPath(key), { name: 'New', version: 1 }).expect(200);
    const late = await staff.patch(projectPath(key), { name: 'Late', version: 1 });
    expectProblem(late, 409, 'version_conflict');
    expect(late.body.project).toMatchObject({ name: 'New', version: 2 });
    const stale = staff.patch(projectPath(key), { name: 'Late' }).set('If-Match', headers.etag ?? '');
    expectProblem(await stale, 412, 'precondition_failed');
    const malformed = staff.patch(projectPath(key), { name: 'Late' }).set('If-Match', 'x');
    expectProblem(await malformed, 400, 'malformed_if_match');
    expectInvalidFields(await staff.patch(projectPath(key), {}), ['body']);
  });
});

describe('the key of an issue', () => {
  it('is that of its project, and every former one leads to it', async () => {
    const [first, second] = [await createProject(), await createProject()];
    const issue = await createIssue(ann);
    const path = (key: string) => `${issuesPath}${key}/`;
    await move(ann, issue, first.key).expect(200);
    await move(ann, issue, second.key).expect(200);
    const next = aKey();
    await staff.patch(projectPath(second.key), { key: next }).expect(200);
    const { number } = issue;
    const keys = [`ISS-${number}`, String(number), `${first.key}-${number}`, `${second.key}-${number}`];
    for (const key of [...keys, `${next.toLowerCase()}-${number}`]) {
      const { body } = await ann.get(path(key)).expect(200);
      expect([body.id, body.key]).toEqual([issue.id, `${next}-${number}`]);
      expect(await keysOf(`id=${key}`)).toEqual([`${next}-${number}`]);
      expect((await keysOf(`search=${key}`))[0]).toBe(`${next}-${number}`);
      await bob.post(`${path(key)}comments/`, { body: 'a' }).expect(201);
      await ann.get(`${path(key)}activity/`).expect(200);
    }
    expect((await ann.get('/api/v1/users/me/watching/').expect(200)).body).toContainEqual(
      expect.objectContaining({ id: issue.id, key: `${next}-${number}` }),
    );
  });

  it('is 404 with a prefix that was never a key, and 422 if it is malformed', async () => {
    const issue = await createIssue(ann);
    expectProblem(await ann.get(`${issuesPath}NEVER-${issue.number}/`), 404, 'issue_not_found');
    expect(await keysOf(`id=NEVER-${issue.number}`)).toEqual([]);
    expect(await keysOf(`search=NEVER-${issue.number}`)).toEqual([]);
    const ids = [`NEVER-${issue.number}`, issue.key];
    const { body } = await ann.post(`${issuesPath}bulk/`, { ids, priority: 'LOW' }).expect(200);
    expect(body.results.map(({ code, outcome }: Record<string, string>) => code ?? outcome)).toEqual([
      'issue_not_found',
      'changed',
    ]);
    for (const key of ['A-B-1', 'ISS-0', 'TOOLONGAKEYX-1', '1A-1', 'ISS'])
      expectInvalidFields(await ann.get(`${issuesPath}${key}/`), ['id']);
  });

  it('leads to its issue by the former prefix after another one is configured', async () => {
    const issue = await createIssue(ann);
    expect(await app.dependencies.projects.keepPrefix()).toBe(true);
    const { databaseUrl, identity } = app;
    const next = await startTestApp({ ISSUE_KEY_PREFIX: 'NEXT' }, { databaseUrl, identity });
    try {
      expect(await next.dependencies.projects.keepPrefix()).toBe(true);
      for (const key of [`ISS-${issue.number}`, `NEXT-${issue.number}`]) {
        const { body } = await ann.on(next).get(`${issuesPath}${key}/`).expect(200);
        expect([body.id, body.key, body.project.key]).toEqual([issue.id, `NEXT-${issue.number}`, 'NEXT']);
      }
      const { key } = await createProject();
      const taken = await startTestApp({ ISSUE_KEY_PREFIX: key }, { databaseUrl, identity });
      expect(await taken.dependencies.projects.keepPrefix()).toBe(false);
      await taken.close();
    } finally {
      await next.close();
    }
  });

  it('is the present one in relations', async () => {
    const { key } = await createProject();
    const [issue, other] = [await createIssue(ann), await createIssue(ann)];
    await ann.post(issuePath(issue, 'relations/'), { kind: 'blocks', issue: other.key }).expect(201);
    await ann.get(issuePath(issue)).expect(200);
    await move(ann, other, key).expect(200);
    const { body } = await ann.get(issuePath(issue, 'relations/')).expect(200);
    expect(body[0].issue.key).toBe(`${key}-${other.number}`);
  });

  it('changes at once in texts that are cached', async () => {
    const { key } = await createProject();
    const { number, id } = await createIssue(ann, { project: key });
    await ann.get(issuePath({ id })).expect(200);
    expect(await keysOf(`project=${key}`)).toEqual([`${key}-${number}`]);
    const next = aKey();
    await staff.patch(projectPath(key), { key: next, name: 'Renamed' }).expect(200);
    expect((await getIssue(ann, { id })).project).toMatchObject({ key: next, name: 'Renamed' });
    expect(await keysOf(`project=${key}`)).toEqual([`${next}-${number}`]);
  });
});

describe('issues of projects', () => {
  it('are created in a project, by default in the default one', async () => {
    const { id, key, name } = await createProject();
    const issue = await createIssue(ann, { project: key.toLowerCase() });
    expect(issue).toMatchObject({ key: `${key}-${issue.number}`, project: { id, key, name } });
    expect((await createIssue(ann)).project.key).toBe('ISS');
    expect((await createIssue(ann, { project: 'ISS' })).project.key).toBe('ISS');
    expectInvalidFields(await ann.post(issuesPath, { title: 'x', project: 'NEVER' }), ['project']);
    await staff.patch(projectPath(key), { is_archived: true }).expect(200);
    expectProblem(await ann.post(issuesPath, { title: 'x', project: key }), 409, 'project_archived');
    expect((await move(ann, issue, key).expect(200)).body).toMatchObject({ id: issue.id, key: issue.key });
    await ann.patch(issuePath(issue), { title: 'Still changed' }).expect(200);
  });

  it('are moved by those who may change them, with a line in the history and an event', async () => {
    const [from, to] = [await createProject(), await createProject()];
    await untilDeliverable(app);
    const { body: start } = await ann.get('/api/v1/events/?after=now').expect(200);
    const issue = await createIssue(ann, { project: from.key });
    expectProblem(await move(bob, issue, to.key), 403, 'forbidden');
    const { body, headers } = await move(ann, issue, to.key).expect(200);
    expect(body).toMatchObject({ key: `${to.key}-${issue.number}`, version: issue.version });
    expect((await ann.get(issuePath(issue)).expect(200)).headers.etag).toBe(headers.etag);
    await move(ann, issue, to.key).expect(200);
    const history = (await historyOf(ann, issue)).filter(
      ({ field }: { field: string | null }) => field === 'project',
    );
    expect(history).toMatchObject([
      { kind: 'updated', old: { id: from.id, key: from.key }, new: { id: to.id, key: to.key } },
    ]);
    const { body: feed } = await ann.get(`/api/v1/events/?after=${start.next}`).expect(200);
    const events = feed.events.filter(
      (event: { data: { issue_id: string } }) => event.data.issue_id === issue.id,
    );
    expect(events).toMatchObject([
      { type: 'issue.created', data: { issue_key: issue.key, project_id: from.id } },
      { type: 'issue.updated', data: { issue_key: body.key, project_id: to.id, changed: ['project'] } },
    ]);
    expect(events[1].data).not.toHaveProperty('project_key');
  });

  it('are not moved to an archived or unknown project', async () => {
    const { key } = await createProject();
    const issue = await createIssue(ann);
    await staff.patch(projectPath(key), { is_archived: true }).expect(200);
    expectProblem(await move(ann, issue, key), 409, 'project_archived');
    expectInvalidFields(await move(ann, issue, 'NEVER'), ['project']);
    expectInvalidFields(await move(ann, issue, 'a-b'), ['project']);
    expectProblem(await move(ann, { id: randomUUID() }, 'ISS'), 404, 'issue_not_found');
  });

  it('take the effect of a repeated request once', async () => {
    const [issue, key] = [await createIssue(ann), aKey()];
    const send = (path: string, body: object, token: string) =>
      staff.post(path, body).set('Idempotency-Key', token);
    const first = await send(projectsPath, { key, name: 'x' }, 'create').expect(201);
    const again = await send(projectsPath, { key, name: 'x' }, 'create').expect(201);
    expect([again.body, again.headers['idempotency-replayed']]).toEqual([first.body, 'true']);
    await send(issuePath(issue, 'move/'), { project: key }, 'move').expect(200);
    await staff.post(issuePath(issue, 'move/'), { project: 'ISS' }).expect(200);
    const replayed = await send(`${issuesPath}${key}-${issue.number}/move/`, { project: key }, 'move').expect(
      200,
    );
    expect([replayed.body.key, replayed.headers['idempotency-replayed']]).toEqual([issue.key, 'true']);
  });

  it('are found by a filter in lists, pages and counts', async () => {
    const [app1, web] = [await createProject(), await createProject()];
    const word = `walrus${randomUUID().slice(0, 8)}`;
    const inApp = await createIssue(ann, { project: app1.key, title: word, priority: 'HIGH' });
    const inWeb = await createIssue(ann, { project: web.key, title: word });
    const inDefault = await createIssue(ann, { title: word });
    const former = web.key;
    await staff.patch(projectPath(web.key), { key: aKey() }).expect(200);
    const ids = (issues: Issue[]) => issues.map(({ number }) => number).sort((a, b) => b - a);
    const found = async (query: string, path = issuesPath) =>
      (await keysOf(query, path)).map((key) => Number(key.split('-')[1]));
    for (const path of [issuesPath, pagesPath]) {
      expect(await found(`project=${app1.key}`, path)).toEqual(ids([inApp]));
      expect(await found(`project=${app1.key},${former.toLowerCase()}`, path)).toEqual(ids([inApp, inWeb]));
      expect(await found(`project=${app1.key}&project=${former}&ordering=title,number`, path)).toHaveLength(
        2,
      );
      expect(await found(`project=-${app1.key}&search=${word}`, path)).toEqual(ids([inWeb, inDefault]));
      expect(await found(`project=${app1.key}&priority=HIGH&status=OPEN`, path)).toEqual(ids([inApp]));
      expect(await found(`project=${app1.key}&priority=LOW`, path)).toEqual([]);
      expect(await found(`project=iss&search=${word}`, path)).toEqual(ids([inDefault]));
      expect(await found(`project=NEVER`, path)).toEqual([]);
      expect(await found(`project=-NEVER&search=${word}`, path)).toHaveLength(3);
      expectInvalidFields(await ann.get(`${path}?project=A,-A`), ['project']);
      expectInvalidFields(await ann.get(`${path}?project=a_b`), ['project']);
    }
    const { body, headers } = await ann.get(`${issuesPath}?project=${app1.key}&fields=project`).expect(200);
    expect([body, headers['x-total-count']]).toEqual([[{ project: inApp.project }], '1']);
    for (const by of ['status', 'priority', 'assignee']) {
      const counted = await ann
        .get(`${issuesPath}counts/?by=${by}&project=${app1.key},${former}`)
        .expect(200);
      const counts = counted.body.counts.map(({ count }: { count: number }) => count);
      expect(counts.reduce((sum: number, one: number) => sum + one, 0)).toBe(2);
    }
    expect((await ann.get(`${issuesPath}counts/?by=status&project=NEVER`).expect(200)).body.is_complete).toBe(
      true,
    );
  });

  it('are followed page by page', async () => {
    const { key } = await createProject();
    for (let count = 0; count < 5; count += 1) await createIssue(ann, { project: key });
    const all = await keysOf(`project=${key}`);
    const pages: string[] = [];
    let next: string | undefined = `${issuesPath}?project=${key}&fields=key&limit=2`;
    while (next !== undefined) {
      const response: Response = await ann.get(next).expect(200);
      pages.push(...response.body.map((issue: Issue) => issue.key));
      next = /<https?:\/\/[^/]+([^>]+)>/.exec(response.headers.link ?? '')?.[1];
    }
    expect(pages).toEqual(all);
    expect(all).toHaveLength(5);
  });
});

describe('the external tracker', () => {
  it('has issues of the default project only', async () => {
    const tracker = await startFakeTracker('gitlab');
    const synced = await startTestApp(trackerEnvironment(tracker, { SYNC_WORKERS: '0' }));
    try {
      const [person, administrator] = [await aPerson(synced), await aPerson(synced, { is_staff: true })];
      await administrator
        .post(projectsPath, { key: 'APP', name: 'Apps', visibility: 'everyone' })
        .expect(201);
      const inDefault = await createIssue(person, { title: 'Public' });
      await person.post(issuePath(inDefault, 'sync/')).expect(200);
      expectProblem(await move(person, inDefault, 'APP'), 409, 'tracker_linked');
      await administrator.delete(issuePath(inDefault, 'external/')).expect(200);
      const { body: moved } = await move(person, inDefault, 'APP').expect(200);
      expect(moved.sync.state).toBe('not_configured');

      const issue = await createIssue(person, { title: 'Private', project: 'APP' });
      const remote = (await tracker.issues())[0]?.id ?? '';
      for (const one of [issue, moved])
        for (const response of [
          await person.post(issuePath(one, 'sync/')),
          await administrator.put(issuePath(one, 'external/'), { id: remote }),
          await administrator.delete(issuePath(one, 'external/')),
        ])
          expectProblem(response, 409, 'tracker_not_configured');
      const { body } = await administrator.post('/api/v1/sync/backfill/', { limit: 10 }).expect(200);
      expect(body.issues).toEqual([]);
      expect(await synced.sql('SELECT 1 FROM tracker_links')).toEqual([]);
      expect((await tracker.issues()).map(({ title }) => title)).toEqual(['Public']);

      await move(person, moved, 'ISS').expect(200);
      await person.post(issuePath(moved, 'sync/')).expect(200);
    } finally {
      await synced.close();
      await tracker.close();
    }
  });
});
