import { describe, expect, it } from '@jest/globals';
import { type Issue, importPreviewSchema } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import { Leases } from '../src/background/leases.ts';
import { ImportRepository } from '../src/tracker-sync/import.repository.ts';
import { type FakeTestTracker, startFakeTracker } from './support/fake-tracker.ts';
import { createIssue, getIssue } from './support/issues.ts';
import { aPerson } from './support/people.ts';
import { syncIssue } from './support/sync-conformance.ts';
import {
  describeImport,
  importAll,
  importing,
  importPath,
  untilImport,
  untilSynced,
} from './support/sync-import.ts';
import { startTestApp } from './support/test-app.ts';
import { trackerEnvironment } from './support/tracker-environment.ts';

describe.each(['github', 'gitlab', 'gitea'] as const)('an import from %s', (provider) => {
  describeImport(async () => {
    const tracker = await startFakeTracker(provider);
    if (provider !== 'gitlab') return { tracker };
    return { tracker, hide: async (id) => tracker.fake.editIssue(Number(id), { confidential: true }) };
  });
});

const startImporting = async (provider: 'github' | 'gitea' | 'gitlab', issues: number) => {
  const tracker = await startFakeTracker(provider);
  for (let number = 1; number <= issues; number += 1) tracker.fake.createIssue({ title: `Issue ${number}` });
  const app = await startTestApp(trackerEnvironment(tracker, importing));
  const staff = await aPerson(app, { is_staff: true });
  const countLinks = async () => (await app.sql('SELECT DISTINCT remote_id FROM tracker_links')).length;
  const countIssues = async () => (await app.sql('SELECT id FROM issues')).length;
  return { tracker, app, staff, countLinks, countIssues };
};

describe('a long import', () => {
  it.each(['github', 'gitea'] as const)(
    'from %s continues after a failure, also on another replica',
    async (provider) => {
      const { tracker, app, staff, countLinks, countIssues } = await startImporting(provider, 130);
      const replica = await startTestApp(trackerEnvironment(tracker, importing), app);
      const on = { method: 'GET', path: /issues$/ };
      // The first page succeeds.
      tracker.fake.fail({ kind: 'latency', ms: 1, on });
      tracker.fake.fail({ kind: 'status', status: 422, on, times: 2 });
      await staff.post(importPath).expect(202);
      expect(await untilImport(staff, 'retrying')).toMatchObject({
        last_error: 'tracker_rejected',
        detail: expect.any(String),
        next_attempt_at: expect.any(String),
      });
      await staff.on(replica).post(importPath).expect(202);
      const { imported } = await untilImport(staff, 'finished');
      expect({ imported, links: await countLinks(), issues: await countIssues() }).toEqual({
        imported: 130,
        links: 130,
        issues: 130,
      });
      await replica.close();
      await app.close();
      await tracker.close();
    },
  );

  it('continues after the process that had its lease has died', async () => {
    const { tracker, app, staff, countLinks } = await startImporting('gitlab', 120);
    await app.sql(
      `INSERT INTO tracker_imports (id, provider, project, requested_by, since, claim_id, claim_until)
       VALUES (gen_random_uuid(), 'gitlab', $1, $2, '1970-01-01', gen_random_uuid(), now() + interval '1 second')`,
      [tracker.project, staff.id],
    );
    expect(await untilImport(staff, 'finished')).toMatchObject({ imported: 120 });
    expect(await countLinks()).toBe(120);
    // The user of an import does not watch the imported issues.
    expect((await staff.get('/api/v1/users/me/watching/').expect(200)).body).toEqual([]);
    const [first, second] = (await staff.get('/api/v1/issues/?limit=2').expect(200)).body;
    expect((await staff.get(`/api/v1/issues/${first.id}/watch/`).expect(200)).body.is_watching).toBe(false);
    await staff.post(`/api/v1/issues/${first.id}/comments/`, { body: 'x' }).expect(201);
    await staff.put(`/api/v1/issues/${second.id}/watch/`).expect(200);
    const watched: Issue[] = (await staff.get('/api/v1/users/me/watching/').expect(200)).body;
    expect(watched.map(({ id }) => id)).toEqual([second.id, first.id]);
    await app.close();
    await tracker.close();
  });

  it('creates each issue once if several processes import the same page', async () => {
    const tracker = await startFakeTracker('github');
    const app = await startTestApp();
    const repository = new ImportRepository(
      app.database,
      { provider: 'github', project: tracker.project },
      new Leases(),
    );
    const staff = await aPerson(app, { is_staff: true });
    await repository.start(staff.id);
    const job = await repository.lease(10_000);
    if (job === undefined) throw new Error('not leased');
    const issues = Array.from({ length: 60 }, (_, index) => ({
      remote: {
        id: String(index + 1),
        key: `#${index + 1}`,
        url: `https://example.com/${index + 1}`,
        state: 'open',
        author: 'octocat',
        createdAt: new Date(),
      },
      title: `Issue ${index + 1}`,
      description: '',
      priority: 'MEDIUM' as const,
      status: 'OPEN' as const,
      assigneeId: null,
      isUnassigned: false,
      base: {},
    }));
    const runs = await Promise.all(Array.from({ length: 5 }, () => repository.create(job, issues)));
    expect(runs).toEqual([true, true, true, true, true]);
    const rows = await app.sql('SELECT title, number FROM issues ORDER BY number');
    expect(rows.map(({ title }) => title)).toEqual(issues.map(({ title }) => title));
    expect(await repository.findLast()).toMatchObject({ imported: 60, linked: 240 });
    await repository.release(job);
    expect(await repository.create(job, issues)).toBe(false);
    await app.close();
    await tracker.close();
  });
});

it.each(['github', 'gitlab', 'gitea'] as const)(
  'texts of %s are imported without directional overrides, and are not written back',
  async (provider) => {
    const { tracker, app, staff } = await startImporting(provider, 0);
    const raw = { title: 'photo\u202egpj.exe', body: 'a \u202db\u202c c' };
    const number = tracker.fake.createIssue(raw);
    tracker.fake.addComment(number, 'see \u202e1202', 'oct\u202eocat');
    await importAll(staff);
    const [issue] = await untilSynced(staff);
    const id = issue?.id ?? '';
    const clean = { title: 'photogpj.exe', description: 'a b\u202c c' };
    const before = await syncIssue(staff, { id });
    expect(before).toMatchObject({ ...clean, sync: { state: 'synced', conflicts: [] } });
    expect(before.comments).toEqual([
      expect.objectContaining({ body: 'see 1202', external: expect.objectContaining({ author: 'octocat' }) }),
    ]);
    // Another override in the tracker is no change, and a change here is one.
    tracker.fake.editIssue(number, { title: '\u202ephoto\u202egpj.exe' });
    expect(await syncIssue(staff, { id })).toMatchObject({ ...clean, updated_at: before.updated_at });
    expect(tracker.fake.issues()).toEqual([expect.objectContaining({ title: '\u202ephoto\u202egpj.exe' })]);
    await staff.put(`/api/v1/issues/${id}/`, { title: 'Photo' }).expect(200);
    await syncIssue(staff, { id });
    expect(tracker.fake.issues()).toEqual([expect.objectContaining({ title: 'Photo' })]);
    await app.close();
    await tracker.close();
  },
);

describe('an import', () => {
  const assign = async (tracker: FakeTestTracker, logins: string[]) => {
    for (const login of logins) {
      const id = tracker.fake.createIssue({ title: `For ${login}` });
      tracker.fake.editIssue(id, { assignee: login });
    }
  };

  it('assigns by the e-mail that the tracker shows, and ignores unknown and inactive users', async () => {
    const { tracker, app, staff } = await startImporting('gitea', 0);
    const jo = await aPerson(app, { email: 'jo@noreply.gitea.example' });
    await app.identity.create({ email: 'left@noreply.gitea.example', password: 'x', is_active: false });
    await assign(tracker, ['jo', 'left', 'stranger']);
    expect(await importAll(staff)).toMatchObject({ imported: 3, unassigned: 2 });
    const assignees = (await untilSynced(staff)).map(({ title, assignee }) => [title, assignee?.id ?? null]);
    expect(Object.fromEntries(assignees)).toEqual({
      'For jo': jo.id,
      'For left': null,
      'For stranger': null,
    });
    await app.close();
    await tracker.close();
  });

  it('skips copies of issues with a marker while the tracker does not tell our account', async () => {
    const { tracker, app, staff } = await startImporting('gitlab', 0);
    const original = await syncIssue(staff, await createIssue(staff));
    const body = `<!-- issues-sync:${original.id} -->`;
    for (let copy = 1; copy <= 2; copy += 1) tracker.fake.createIssue({ title: `Copy ${copy}`, body });
    const onAccount = { method: 'GET', path: /\/user$/ };
    const countReads = () => tracker.fake.requests.filter(({ path }) => onAccount.path.test(path)).length;
    tracker.fake.fail({ kind: 'status', status: 403, on: onAccount });
    expect([await importAll(staff), countReads()]).toMatchObject([{ imported: 0, linked: 1, skipped: 2 }, 1]);
    tracker.fake.fail({ kind: 'status', status: 503, on: onAccount });
    expect([await importAll(staff), countReads()]).toMatchObject([{ imported: 2, skipped: 0 }, 3]);
    expect([await importAll(staff), countReads()]).toMatchObject([{ imported: 0, linked: 3 }, 3]);
    await app.close();
    await tracker.close();
  });

  it('reads pages of a dry run one after the other', async () => {
    const { tracker, app, staff, countIssues } = await startImporting('gitlab', 130);
    const numbers = new Set<string>();
    let next: string | null = '';
    for (let page = 1; next !== null; page += 1) {
      const cursor: string = next === '' ? '' : `&cursor=${next}`;
      const { body } = await staff.post(`${importPath}?dry_run=true${cursor}`).expect(200);
      const preview = importPreviewSchema.parse(body);
      for (const { external } of preview.issues) numbers.add(external.id);
      next = preview.next;
      expect(page).toBeLessThan(4);
    }
    expect([numbers.size, await countIssues()]).toEqual([130, 0]);
    expectProblem(await staff.post(`${importPath}?dry_run=true&cursor=x`), 422, 'validation_failed');
    expectProblem(await staff.post(`${importPath}?dry_run=maybe`), 422, 'validation_failed');
    tracker.fake.fail({ kind: 'status', status: 401, times: 3 });
    expectProblem(await staff.post(`${importPath}?dry_run=true`), 502, 'tracker_auth_failed');
    await app.close();
    await tracker.close();
  });

  it('is refused without a tracker', async () => {
    const app = await startTestApp();
    const staff = await aPerson(app, { is_staff: true });
    for (const path of [importPath, `${importPath}?dry_run=true`, '/api/v1/sync/backfill/'])
      expectProblem(await staff.post(path), 409, 'tracker_not_configured');
    expectProblem(await staff.get(importPath), 409, 'tracker_not_configured');
    await app.close();
  });
});

describe('a backfill', () => {
  it('makes issues due that were never synced, the oldest first', async () => {
    const { tracker, app, staff } = await startImporting('github', 0);
    const keys: string[] = [];
    const issues = [];
    for (let number = 1; number <= 3; number += 1) {
      const issue = await createIssue(staff, { title: `Old ${number}` });
      issues.push(issue);
      keys.push(issue.key);
    }
    const path = '/api/v1/sync/backfill/';
    const dry = await staff.post(`${path}?dry_run=true`, { limit: 2 }).expect(200);
    expect(dry.body).toEqual({ issues: keys.slice(0, 2), has_more: true });
    expect(await app.sql('SELECT issue_id FROM tracker_links')).toEqual([]);
    const first = await staff.post(path, { limit: 2 }).expect(200);
    expect(first.body).toEqual({ issues: keys.slice(0, 2), has_more: true });
    const rest = await staff.post(path).expect(200);
    expect(rest.body).toEqual({ issues: keys.slice(2), has_more: false });
    expect((await staff.post(path).expect(200)).body).toEqual({ issues: [], has_more: false });
    await untilSynced(staff);
    expect((await tracker.issues()).map(({ title }) => title).sort()).toEqual(['Old 1', 'Old 2', 'Old 3']);
    const ann = await aPerson(app);
    expectProblem(await ann.post(path), 403, 'forbidden');
    expect((await getIssue(staff, issues[0] ?? { id: '' })).external).not.toBeNull();
    await app.close();
    await tracker.close();
  });
});
