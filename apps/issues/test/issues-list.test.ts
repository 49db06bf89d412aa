import { randomUUID } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type FilterName,
  type IssueSummary,
  issueCountsSchema,
  issueFieldSchema,
  issueFilters,
  issueStatuses,
  issueSummarySchema,
} from '@tessera/contracts';
import { expectInvalidFields } from '@tessera/testing/problems';
import { createIssue, createIssueThatIs, getIssue, issuePath, issuesPath, rowOf } from './support/issues.ts';
import { followLinks, pathOf } from './support/pages.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  bob = await aPerson(app);
});
afterAll(() => app.close());

const list = async (query = '', person = ann): Promise<IssueSummary[]> => {
  const { body } = await person.get(`${issuesPath}${query}`).expect(200);
  return issueSummarySchema.array().parse(body);
};
const titles = async (query: string, person = ann) => (await list(query, person)).map(({ title }) => title);

describe('GET /api/v1/issues/', () => {
  it('returns an array, newest first, of the issues without their comments', async () => {
    const links = [
      { type: 'user', ref: bob.id },
      { type: 'invoice', ref: '1', metadata: { a: 1 } },
    ];
    const first = await createIssue(ann, { assignee_id: bob.id, links });
    await ann.post(issuePath(first, 'comments/'), { body: 'x' }).expect(201);
    const second = await createIssueThatIs(bob, 'CLOSED');
    const response = await ann.get(issuesPath).expect(200);
    const expected = await Promise.all([second, first].map((issue) => getIssue(ann, issue)));
    expect(response.body).toEqual(expected.map(rowOf));
    expect(response.headers['x-total-count']).toBe('2');
    expect(response.headers.link).toBeUndefined();
    expect(response.headers['content-type']).toBe('application/json; charset=utf-8');
  });

  it('shortens the description and the links', async () => {
    const description = '🖨'.repeat(2_001);
    const links = Array.from({ length: 12 }, (_, index) => ({
      type: 'invoice',
      ref: String(index),
      metadata: { index },
    }));
    const issue = await createIssue(ann, { title: 'zebra', description, links });
    const fits = await createIssue(ann, { title: 'zebra', description: description.slice(2) });
    const { body } = await ann.get(`${issuesPath}?search=zebra`).expect(200);
    expect(body).toEqual([fits, issue].map(rowOf));
    expect(body[1]).toMatchObject({ description_truncated: true, links_count: 12 });
    expect(body[1].links.map(({ ref }: { ref: string }) => ref)).toEqual(
      Array.from({ length: 10 }, (_, index) => String(index)),
    );
    expect(body[0]).toMatchObject({ description: fits.description, description_truncated: false });
  });

  it('ends a page of large issues before 512 KiB and links to the next page', async () => {
    const url = `https://example.com/${'a'.repeat(2_000)}`;
    const links = Array.from({ length: 10 }, (_, index) => ({ type: 'invoice', ref: `large ${index}`, url }));
    const description = '🖨'.repeat(2_000);
    const large: string[] = [];
    for (let n = 0; n < 40; n += 1) large.unshift((await createIssue(bob, { description, links })).id);
    const query = `reporter=${bob.id}&link=invoice:large+0`;
    const pages = await followLinks<IssueSummary>(ann, `${issuesPath}?limit=200&${query}`);
    expect(pages.flat().map(({ id }) => id)).toEqual(large);
    expect(pages.length).toBeGreaterThan(1);
    for (const page of pages) expect(Buffer.byteLength(JSON.stringify(page))).toBeLessThan(512 * 1024);
    const envelope = await ann.get(`/api/v1/issue-pages/?page_size=200&${query}`).expect(200);
    expect(envelope.body.count).toBe(40);
    expect(envelope.body.results).toEqual(pages[0]);
    const next = await ann.get(pathOf(envelope.body.next)).expect(200);
    expect(next.body.results).toEqual(pages[1]);
  });

  it('returns only the requested members of each issue', async () => {
    const links = [{ type: 'invoice', ref: 'sparse' }];
    const issue = await createIssue(ann, { description: 'Since Monday', assignee_id: bob.id, links });
    const query = `${issuesPath}?link=invoice:sparse`;
    const [row] = await list('?link=invoice:sparse');
    for (const field of issueFieldSchema.options) {
      const { body } = await ann.get(`${query}&fields=${field}`).expect(200);
      const value = field === 'is_blocked' ? false : row?.[field];
      expect(body).toEqual([{ [field]: value }]);
    }
    const several = { key: issue.key, title: issue.title, updated_at: issue.updated_at };
    expect((await ann.get(`${query}&fields=title,key&fields=updated_at,key`).expect(200)).body).toEqual([
      several,
    ]);
    const pages = '/api/v1/issue-pages/?page=1&link=invoice:sparse&fields=title,key,updated_at';
    expect((await ann.get(pages).expect(200)).body).toMatchObject({ count: 1, results: [several] });
    await ann.patch(issuePath(issue), { title: 'Another' }).expect(200);
    expect((await ann.get(`${query}&fields=title`).expect(200)).body).toEqual([{ title: 'Another' }]);
  });

  it.each([
    [`${issuesPath}?link=invoice:poll`],
    [`${issuesPath}?link=invoice:poll&fields=id`],
    ['/api/v1/issue-pages/?link=invoice:poll&page=1'],
    ['/api/v1/issue-pages/?link=invoice:poll'],
  ])('returns 304 for the current ETag, until the list changes: %s', async (path) => {
    const links = [{ type: 'invoice', ref: 'poll' }];
    const issue = await createIssue(ann, { links });
    const first = await ann.get(path).expect(200);
    const { etag = '' } = first.headers;
    expect(etag).toMatch(/^W\/"[\w-]{16}"$/);
    expect(first.headers['cache-control']).toBe('private, no-cache');
    const strong = etag.replace('W/', '');
    for (const known of [etag, strong, `"x", ${etag}`, '*']) {
      const answer = await ann.get(path).set('If-None-Match', known).expect(304);
      expect(answer.text).toBe('');
      expect(answer.headers).toMatchObject({ etag, 'cache-control': 'private, no-cache' });
    }
    await ann.get(path).set('If-None-Match', `${etag}x`).expect(200);
    for (const change of [
      () => bob.post(issuePath(issue, 'comments/'), { body: 'x' }).expect(201),
      () => createIssue(ann, { links }),
      () => ann.post(issuePath(issue, 'status/'), { status: 'CLOSED' }).expect(200),
    ]) {
      const before = (await ann.get(path).expect(200)).headers.etag ?? '';
      await change();
      const after = await ann.get(path).set('If-None-Match', before).expect(200);
      expect(after.headers.etag).not.toBe(before);
    }
    expect((await ann.head(path).expect(200)).headers.etag).toBe((await ann.get(path)).headers.etag);
  });

  it('have other ETags with other members, and as a page', async () => {
    await createIssue(ann, { links: [{ type: 'invoice', ref: 'members' }] });
    const query = '?link=invoice:members';
    const paths = [issuesPath, `${issuesPath}${query}`, `/api/v1/issue-pages/${query}`];
    const all = [
      ...paths,
      ...paths.slice(1).flatMap((path) => [`${path}&fields=key`, `${path}&fields=key,title`]),
    ];
    const etags = await Promise.all(all.map(async (path) => (await ann.get(path).expect(200)).headers.etag));
    expect(new Set(etags).size).toBe(all.length);
  });

  it.each([
    ['gzip', 10_000],
    ['br', 10_000],
  ])('takes less than 10 kB by %s for 50 issues without their descriptions', async (coding, bytes) => {
    const people = await Promise.all(Array.from({ length: 12 }, () => aPerson(app)));
    await Promise.all(people.map((person) => person.get('/api/v1/users/me/').expect(200)));
    await app.sql(
      `INSERT INTO issues (id, title, description, priority, status, reporter_id, assignee_id, created_at, updated_at)
       SELECT gen_random_uuid(), 'Invoice ' || md5(n::text) || ' of ' || n || ' is not printed', repeat(md5(n::text), 9),
              (enum_range(NULL::issue_priority))[1 + n % 5], (enum_range(NULL::issue_status))[1 + n % 5],
              ($1::uuid[])[1 + n % 12], ($1::uuid[])[1 + n * 5 % 12], timestamptz '2001-01-01' - n * interval '61.234 s',
              now() - n * interval '17.017 s'
         FROM generate_series(1, 50) n`,
      [people.map(({ id }) => id)],
    );
    const fields = issueFieldSchema.options.filter((field) => !field.startsWith('description'));
    const response = await ann
      .get(`${issuesPath}?limit=50&created_before=2002-01-01&fields=${fields.join()}`)
      .set('Accept-Encoding', coding)
      .expect(200);
    expect(response.body).toHaveLength(50);
    expect(response.headers).toMatchObject({
      'content-encoding': coding,
      etag: expect.stringMatching(/^W\//),
    });
    expect(Number(response.headers['content-length'])).toBeLessThan(bytes);
  });

  it('is the list to compress; the list of users, with their e-mails, is not', async () => {
    const staff = await aPerson(app, { is_staff: true });
    const get = (path: string) => staff.get(path).set('Accept-Encoding', 'gzip').expect(200);
    expect((await get(issuesPath)).headers['content-encoding']).toBe('gzip');
    const users = await get('/api/v1/users/?limit=200');
    expect(users.text.length).toBeGreaterThan(2_000);
    expect(users.headers).not.toHaveProperty('content-encoding');
  });

  it('returns an empty array when nothing matches', async () => {
    const response = await ann.get(`${issuesPath}?search=nosuchword`).expect(200);
    expect(response.text).toBe('[]');
    expect(response.headers['x-total-count']).toBe('0');
  });
});

describe('filters', () => {
  let issues: Record<'open' | 'working' | 'done' | 'closed' | 'again', IssueSummary>;
  beforeAll(async () => {
    const make = async (title: string, status: Parameters<typeof createIssueThatIs>[1], body: object) => {
      const issue = await createIssueThatIs(bob, status);
      await bob.put(issuePath(issue), { title, ...body }).expect(200);
      return getIssue(bob, issue);
    };
    await app.sql('ALTER TABLE activity DISABLE TRIGGER activity_append_only');
    await app.sql('TRUNCATE issues CASCADE');
    await app.sql('ALTER TABLE activity ENABLE TRIGGER activity_append_only');
    issues = {
      open: await make('open', 'OPEN', { priority: 'LOW', assignee_id: ann.id }),
      working: await make('working', 'IN_PROGRESS', {
        priority: 'HIGH',
        links: [{ type: 'invoice', ref: '2024:17' }],
      }),
      done: await make('done', 'RESOLVED', { priority: 'LOW', assignee_id: bob.id }),
      closed: await make('closed', 'CLOSED', { priority: 'CRITICAL' }),
      again: await make('again', 'REOPENED', {}),
    };
    const staff = await aPerson(app, { is_staff: true });
    await staff
      .post(issuePath(issues.done, 'links/'), { type: 'external_issue', ref: 'redmine:17' })
      .expect(201);
  });

  it.each<[string, string[]]>([
    ['status=OPEN', ['open']],
    ['status=OPEN&status=CLOSED', ['closed', 'open']],
    ['status=OPEN,CLOSED,OPEN', ['closed', 'open']],
    ['priority=low', ['done', 'open']],
    ['priority=LOW,HIGH&status=IN_PROGRESS', ['working']],
    ['assignee=me', ['open']],
    ['assignee=none', ['again', 'closed', 'working']],
    ['assignee=me,none', ['again', 'closed', 'working', 'open']],
    ['assignee=none&assignee=me&is_open=true', ['again', 'working', 'open']],
    ['assignee=me,me', ['open']],
    ['-status=OPEN', ['again', 'closed', 'done', 'working']],
    ['-status=OPEN,CLOSED&-status=REOPENED', ['done', 'working']],
    ['-status=OPEN&is_open=true', ['again', 'working']],
    ['-priority=low,medium', ['closed', 'working']],
    ['-priority=HIGH&priority=LOW', ['done', 'open']],
    ['-assignee=me', ['again', 'closed', 'done', 'working']],
    ['-assignee=me,none', ['done']],
    ['-assignee=none', ['done', 'open']],
    ['-reporter=me', ['again', 'closed', 'done', 'working', 'open']],
    ['-reporter=me&search=done+or+open', ['done', 'open']],
    ['watcher=me', ['open']],
    ['watcher=me&search=done+or+open', ['open']],
    ['watcher=me&ordering=title', ['open']],
    ['watcher=me&-status=OPEN', []],
    ['reporter=me', []],
    ['link=invoice:2024:17', ['working']],
    ['link=invoice:2024', []],
    ['link=entity:2024:17', []],
    ['external=redmine:17', ['done']],
    ['external=redmine:17&link=invoice:2024:17', []],
    ['is_open=true', ['again', 'working', 'open']],
    ['is_open=false', ['closed', 'done']],
    ['is_open=true&status=OPEN,CLOSED', ['open']],
    ['is_open=true&status=CLOSED', []],
    ['created_after=2000-01-01', ['again', 'closed', 'done', 'working', 'open']],
    ['created_before=2000-01-01T00:00:00Z', []],
    ['updated_after=2999-01-01T00:00:00%2B02:00', []],
    ['updated_before=2999-01-01T00:00:00+02:00', ['again', 'closed', 'done', 'working', 'open']],
    ['ordering=created_at', ['open', 'working', 'done', 'closed', 'again']],
    ['ordering=number', ['open', 'working', 'done', 'closed', 'again']],
    ['ordering=-number', ['again', 'closed', 'done', 'working', 'open']],
    ['ordering=title', ['again', 'closed', 'done', 'open', 'working']],
    ['ordering=-title', ['working', 'open', 'done', 'closed', 'again']],
    ['ordering=status', ['open', 'working', 'done', 'closed', 'again']],
    ['ordering=priority', ['open', 'done', 'again', 'working', 'closed']],
    ['ordering=-priority', ['closed', 'working', 'again', 'done', 'open']],
    ['ordering=-priority,title', ['closed', 'working', 'again', 'done', 'open']],
    ['ordering=priority,-title', ['open', 'done', 'again', 'working', 'closed']],
    ['search=', ['again', 'closed', 'done', 'working', 'open']],
    ['search=working', ['working']],
    ['search=open%20or%20done', ['done', 'open']],
    ['search=-open', ['again', 'closed', 'done', 'working']],
  ])('%s', async (query, expected) => {
    expect(await titles(`?${query}`)).toEqual(expected);
  });

  it('find issues by ids, keys and numbers', async () => {
    const { open, working, done, closed } = issues;
    const unknown = [randomUUID(), 'ISS-999999', '99999999999'];
    const wanted = [open.id.toUpperCase(), working.key.toLowerCase(), done.number, open.id, ...unknown];
    expect(await titles(`?id=${wanted.join()}`)).toEqual(['done', 'working', 'open']);
    expect(await titles(`?id=${open.key}&id=${closed.key}`)).toEqual(['closed', 'open']);
    expect(await titles(`?id=${open.id},${closed.id}&status=OPEN`)).toEqual(['open']);
    expect(await titles(`?id=${unknown.join()}`)).toEqual([]);
    const many = Array.from({ length: 99 }, (_, index) => index + 1_000_000);
    expect(await titles(`?id=${[...many, open.id].join()}`)).toEqual(['open']);
  });

  it('apply to the counts', async () => {
    const count = async (query: string, person = ann) => {
      const { body } = await person.get(`${issuesPath}counts/?${query}`).expect(200);
      const { counts, is_complete } = issueCountsSchema.parse(body);
      expect(counts.every(({ is_capped }) => !is_capped)).toBe(true);
      expect(is_complete).toBe(true);
      return counts.map(({ value, count: found }) => [value, found]);
    };
    const statuses = (...counts: number[]) => issueStatuses.map((status, index) => [status, counts[index]]);
    expect(await count('by=status')).toEqual(statuses(1, 1, 1, 1, 1));
    expect(await count('by=status&is_open=true')).toEqual(statuses(1, 1, 0, 0, 1));
    expect(await count('by=status&assignee=me')).toEqual(statuses(1, 0, 0, 0, 0));
    expect(await count('by=status&search=done+or+closed')).toEqual(statuses(0, 0, 1, 1, 0));
    expect(await count(`by=status&search=${issues.open.number}`)).toEqual(statuses(1, 0, 0, 0, 0));
    expect(await count('by=status&label=nosuchlabel')).toEqual(statuses(0, 0, 0, 0, 0));
    expect(await count('by=status&-label=nosuchlabel&-assignee=me')).toEqual(statuses(0, 1, 1, 1, 1));
    expect(await count('by=status&watcher=me&-priority=HIGH')).toEqual(statuses(1, 0, 0, 0, 0));
    expect(await count('by=status&search=nosuchword')).toEqual(statuses(0, 0, 0, 0, 0));
    expect(await count('by=priority&status=OPEN,RESOLVED,CLOSED')).toEqual([
      ['LOW', 2],
      ['MEDIUM', 0],
      ['HIGH', 0],
      ['URGENT', 0],
      ['CRITICAL', 1],
    ]);
    const people = [issues.open.assignee, issues.done.assignee].sort((a, b) =>
      (a?.id ?? '') < (b?.id ?? '') ? -1 : 1,
    );
    expect(await count('by=assignee')).toEqual([[null, 3], ...people.map((person) => [person, 1])]);
    expect(await count('by=assignee&search=done')).toEqual([[issues.done.assignee, 1]]);
    expect(await count('by=assignee&reporter=me')).toEqual([]);
  });

  it('give the counts an ETag', async () => {
    const path = `${issuesPath}counts/?by=assignee`;
    const { headers } = await ann.get(path).expect(200);
    expect(headers['cache-control']).toBe('private, no-cache');
    const answer = await ann
      .get(path)
      .set('If-None-Match', headers.etag ?? '')
      .expect(304);
    expect(answer.headers.etag).toBe(headers.etag);
    await bob.patch(issuePath(issues.again), { assignee_id: bob.id }).expect(200);
    await ann
      .get(path)
      .set('If-None-Match', headers.etag ?? '')
      .expect(200);
    await bob.patch(issuePath(issues.again), { assignee_id: null }).expect(200);
  });

  it.each([
    ['by', ''],
    ['by', 'by=label'],
    ['by', 'by=status&by=priority'],
    ['limit', 'by=status&limit=5'],
    ['ordering', 'by=status&ordering=title'],
    ['status', 'by=status&status=DONE'],
  ])('return 422 for counts with an invalid %s (%s)', async (field, query) => {
    expectInvalidFields(await ann.get(`${issuesPath}counts/?${query}`), [field]);
  });

  it('list what a person watches, with and without a row', async () => {
    const watched = () => titles('?watcher=me', bob);
    // Bob has reported them, and watches them without a row.
    const before = await watched();
    expect(before).toContain('open');
    await bob.delete(issuePath(issues.open, 'watch/')).expect(204);
    expect(await watched()).toEqual(before.filter((title) => title !== 'open'));
    await bob.put(issuePath(issues.open, 'watch/')).expect(200);
    expect(await watched()).toEqual(before);
    expect(await titles('?watcher=me&-reporter=me', bob)).toEqual([]);
  });

  it('accept the ids of people', async () => {
    expect(await titles(`?assignee=${bob.id}`)).toEqual(['done']);
    expect(await titles(`?assignee=${bob.id.toUpperCase()},me`)).toEqual(['done', 'open']);
    expect(await titles(`?assignee=${bob.id},${randomUUID()},none&status=RESOLVED,CLOSED`)).toEqual([
      'closed',
      'done',
    ]);
    expect(await titles(`?reporter=${bob.id.toUpperCase()}&status=OPEN`)).toEqual(['open']);
    expect(await titles('?assignee=me', bob)).toEqual(['done']);
  });

  it('include the lower bound of a time range and exclude the upper bound', async () => {
    const at = issues.done.created_at;
    expect(await titles(`?created_after=${at}`)).toEqual(['again', 'closed', 'done']);
    expect(await titles(`?created_before=${at}`)).toEqual(['working', 'open']);
    expect(await titles(`?updated_after=${issues.closed.updated_at}&ordering=updated_at`)).toContain(
      'closed',
    );
  });

  it.each<[string, string]>([
    ['status', 'status=DONE'],
    ['status', 'status=open'],
    ['status', 'status='],
    ['status', 'status=OPEN,'],
    ['priority', 'priority=MAJOR'],
    ['assignee', 'assignee=bob'],
    ['assignee', 'assignee='],
    ['assignee', 'assignee=me,bob'],
    ['assignee', `assignee=${'me,'.repeat(20)}me`],
    ['-status', '-status=DONE'],
    ['-status', '-status='],
    ['-status', '-status=OPEN&status=OPEN'],
    ['-status', '-status=OPEN&status=OPEN,CLOSED'],
    ['-priority', 'priority=low&-priority=LOW'],
    ['-assignee', 'assignee=me,none&-assignee=none'],
    ['-reporter', 'reporter=me&-reporter=me'],
    ['-label', 'label=Bug&-label=bug'],
    ['-reporter', '-reporter=none'],
    ['watcher', 'watcher=none'],
    ['watcher', `watcher=${randomUUID()}`],
    ['-watcher', '-watcher=me'],
    ['reporter', 'reporter=none'],
    ['link', 'link=invoice'],
    ['link', 'link=invoice:'],
    ['link', 'link=page:1'],
    ['link', 'link=invoice:%00'],
    ['external', 'external=17'],
    ['is_open', 'is_open=yes'],
    ['created_after', 'created_after=yesterday'],
    ['created_after', 'created_after=2026-02-30'],
    ['created_after', 'created_after=2026-01-01T00:00:00'],
    ['created_before', 'created_before=0000-01-01'],
    ['updated_after', 'updated_after=9999-12-31T23:59:59-23:59'],
    ['updated_before', 'updated_before='],
    ['due_after', 'due_after=2026-02-30'],
    ['due_before', 'due_before=0000-01-01'],
    ['ordering', 'ordering=colour'],
    ['ordering', 'ordering='],
    ['ordering', 'ordering=title,title'],
    ['ordering', 'ordering=title,-title'],
    ['ordering', 'ordering=--title'],
    ['ordering', 'ordering=id'],
    ['search', `search=${'x'.repeat(201)}`],
    ['search', 'search=%00'],
    ['search', 'search=a&search=b'],
    ['limit', 'limit=0'],
    ['limit', 'limit=201'],
    ['limit', 'limit=ten'],
    ['limit', 'limit=1e1'],
    ['limit', 'limit=99999999999999999999'],
    ['page', 'page=1'],
    ['page_size', 'page_size=50'],
    ['cursor', 'cursor=x'],
    ['cursor', 'cursor=%00'],
    ['id', 'id='],
    ['id', 'id=0'],
    ['id', 'id=ISS-1,X_Z-1'],
    ['id', `id=${'1,'.repeat(100)}1`],
    ['fields', 'fields=name'],
    ['fields', 'fields=title,comments'],
    ['fields', 'fields='],
    ['fields', `fields=${'title,'.repeat(25)}title`],
    ['sort', 'sort=title'],
    ['status[]', 'status[]=OPEN'],
    ['__proto__', '__proto__=1'],
    ['offset', 'offset=50'],
  ])('return 422 for an invalid %s (%s)', async (field, query) => {
    expectInvalidFields(await ann.get(`${issuesPath}?${query}`), [field]);
  });

  it.each([
    [`status=${'OPEN,'.repeat(20)}OPEN`, 'must be at most 20 values'],
    ['assignee=me&assignee=all', 'must be one or more of me, none, a UUID'],
    [`search=a+%22${'b+'.repeat(17)}%22`, 'must have at most 16 words in phrases'],
    [`search=%22${'b+c%22+%22'.repeat(9)}`, 'must have at most 16 words in phrases'],
    ['reporter=me&reporter=me', 'must be given once'],
    ['is_overdue=yes', 'must be true or false'],
    ['is_open=true&is_open=true', 'must be given once'],
    ['due_before=', 'must be a day such as 2026-12-31'],
  ])('say why a filter is invalid: %s', async (query, message) => {
    const { body } = await ann.get(`${issuesPath}?${query}`).expect(422);
    expect(body.errors).toMatchObject([{ message }]);
  });

  it.each(['assignee', 'reporter'])('refuse a %s that is the caller and is excluded by id', async (name) => {
    for (const [asked, excluded] of [
      ['me', ann.id],
      [ann.id, 'me'],
    ])
      expectInvalidFields(await ann.get(`${issuesPath}?${name}=${asked}&-${name}=${excluded}`), [`-${name}`]);
    await ann.get(`${issuesPath}?${name}=me&-${name}=${bob.id}`).expect(200);
  });

  it('list the known parameters in the error of an unknown one', async () => {
    const { body } = await ann.get(`${issuesPath}?offset=50`).expect(422);
    expect(body.errors).toEqual([
      {
        field: 'offset',
        message: `is not a known parameter; known are limit, cursor, fields, ${Object.keys(issueFilters).join(', ')}, ordering`,
      },
    ]);
  });

  describe('each of them', () => {
    beforeAll(async () => {
      const staff = await aPerson(app, { is_staff: true });
      await staff.post('/api/v1/labels/', { name: 'ui' }).expect(201);
      await bob.patch(issuePath(issues.open), { labels: ['ui'], due_on: '2020-01-01' }).expect(200);
    });
    afterAll(() => bob.patch(issuePath(issues.open), { labels: [], due_on: null }).expect(200));

    // A filter of the contract that has no value here does not compile.
    it.each<[FilterName, () => string]>(
      Object.entries({
        id: () => issues.open.key,
        status: () => 'OPEN',
        '-status': () => 'OPEN',
        priority: () => 'LOW',
        '-priority': () => 'LOW',
        assignee: () => 'me',
        '-assignee': () => 'me',
        reporter: () => 'me',
        '-reporter': () => bob.id,
        watcher: () => 'me',
        link: () => 'invoice:2024:17',
        external: () => 'redmine:17',
        label: () => 'ui',
        '-label': () => 'ui',
        project: () => '-ISS',
        sync: () => 'failed',
        is_open: () => 'true',
        due_after: () => '2020-01-01',
        due_before: () => '2020-01-02',
        due_within: () => '0',
        is_overdue: () => 'true',
        created_after: () => issues.again.created_at,
        created_before: () => issues.again.created_at,
        updated_after: () => '2999-01-01',
        updated_before: () => '2000-01-01',
        search: () => 'open',
      } satisfies Record<FilterName, () => string>) as [FilterName, () => string][],
    )(
      '%s leaves issues out, the same ones in each order, in a search and in the counts',
      async (name, value) => {
        const query = `${name}=${value()}`;
        const found = await titles(`?${query}&ordering=title`);
        expect(found.length).toBeLessThan(5);
        expect((await titles(`?${query}`)).sort()).toEqual(found);
        expect(await titles(`?${query}&ordering=priority,-title`)).toHaveLength(found.length);
        if (name !== 'search')
          expect(
            await titles(`?${query}&ordering=title&search=open+or+working+or+done+or+closed+or+again`),
          ).toEqual(found);
        const { body } = await ann.get(`${issuesPath}counts/?by=assignee&${query}`).expect(200);
        const counts: { count: number }[] = issueCountsSchema.parse(body).counts;
        expect(counts.reduce((sum, { count }) => sum + count, 0)).toBe(found.length);
      },
    );
  });

  it('are all in the guide', () => {
    const guide = readFileSync(new URL('../../../docs/issues/lists.md', import.meta.url), 'utf8');
    const names = Object.keys(issueFilters).map((name) => name.replace(/^-/, ''));
    expect(names.filter((name) => !new RegExp(`[\`?&]${name}[=\`]`).test(guide))).toEqual([]);
  });

  it('find issues by their due date, and list them in its order, those without one last', async () => {
    const dues = ['2020-01-02', null, '2020-01-01', '2999-01-01', null];
    for (const [index, due_on] of dues.entries())
      await createIssue(bob, { title: `due ${index}`, due_on, links: [{ type: 'invoice', ref: 'due' }] });
    const done = await createIssue(bob, { title: 'done', due_on: '2020-01-01' });
    await bob.post(issuePath(done, 'status/'), { status: 'CLOSED' }).expect(200);
    const of = async (query: string) => titles(`?link=invoice:due${query}`);
    expect(await of('&ordering=due_on')).toEqual(['due 2', 'due 0', 'due 3', 'due 1', 'due 4']);
    expect(await of('&ordering=-due_on')).toEqual(['due 4', 'due 1', 'due 3', 'due 0', 'due 2']);
    expect(await of('&due_after=2020-01-02&ordering=due_on')).toEqual(['due 0', 'due 3']);
    expect(await of('&due_after=2020-01-01&due_before=2020-01-02')).toEqual(['due 2']);
    const [found] = await app.sql(
      `UPDATE issues SET due_on = (now() AT TIME ZONE 'UTC')::date + 7 WHERE title = 'due 1' RETURNING due_on::text AS week`,
    );
    expect(await of('&due_within=7&ordering=due_on')).toEqual(['due 2', 'due 0', 'due 1']);
    expect(await of('&due_within=6&ordering=due_on')).toEqual(['due 2', 'due 0']);
    expect(await of(`&due_within=7&due_after=${found?.week}`)).toEqual(['due 1']);
    for (const days of ['-1', '1.5', '367', 'week'])
      expectInvalidFields(await ann.get(`${issuesPath}?due_within=${days}`), ['due_within']);
    await app.sql(`UPDATE issues SET due_on = NULL WHERE title = 'due 1'`);
    expect(await of('&is_overdue=true&ordering=due_on')).toEqual(['due 2', 'due 0']);
    expect(await of('&is_overdue=false')).toEqual(['due 4', 'due 3', 'due 1']);
    for (const query of ['ordering=due_on', 'ordering=-due_on,title', 'ordering=due_on&reporter=me']) {
      const whole = await list(`?${query}&limit=200`, bob);
      const pages = await followLinks<IssueSummary>(bob, `${issuesPath}?${query}&limit=3`);
      expect(pages.flat().map(({ key }) => key)).toEqual(whole.map(({ key }) => key));
    }
    expect(await titles('?reporter=me&is_overdue=true&search=done', bob)).toEqual([]);
    expect(await titles('?reporter=me&is_overdue=true&ordering=-number', bob)).toEqual(['due 2', 'due 0']);
  });
});

describe('search', () => {
  beforeAll(async () => {
    await createIssue(ann, { title: 'Crème brûlée is burnt', description: 'The kitchen of Zoë' });
    await createIssue(ann, { title: 'The oven', description: 'It burnt the creme, twice.' });
  });

  it('finds words of title and description, without accents and in any case', async () => {
    expect(await titles('?search=creme')).toEqual(['The oven', 'Crème brûlée is burnt']);
    expect(await titles('?search=BRÛLEE')).toEqual(['Crème brûlée is burnt']);
    expect(await titles('?search=zoe')).toEqual(['Crème brûlée is burnt']);
  });

  it('supports phrases, exclusions and alternatives', async () => {
    expect(await titles('?search=%22creme+twice%22')).toEqual(['The oven']);
    expect(await titles('?search=%22twice+creme%22')).toEqual([]);
    expect(await titles('?search=creme+-oven')).toEqual(['Crème brûlée is burnt']);
    expect(await titles('?search=kitchen+or+oven')).toEqual(['The oven', 'Crème brûlée is burnt']);
  });

  it('finds words by the beginning of the last word, from three characters', async () => {
    await createIssue(ann, { title: 'Quarterly synchronisation', description: 'of the warehouse_inventory' });
    for (const [search, isFound] of [
      ['synchronis', true],
      ['syn', true],
      ['sy', false],
      ['SYNCHRÔ', true],
      ['quarterly synchr', true],
      ['quart synchronisation', false],
      ['ynchronisation', false],
      ['nosuchword or synchr', true],
      ['warehouse_inv', true],
      ['warehouse/inv', true],
      ['"quarterly synchr', true],
      ['"quarterly synchr"', false],
      ['quarterly -synchr', true],
      ['quarterly -synchronisation', false],
      ['-"quarterly synchronisation" synchr', false],
      ['synchr!', false],
    ] as const) {
      const found = await titles(`?search=${encodeURIComponent(search)}`);
      expect([search, found]).toEqual([search, isFound ? ['Quarterly synchronisation'] : []]);
    }
  });

  it('finds issues by the words of a comment, as long as it has them', async () => {
    const [one, other] = [
      await createIssue(ann, { title: 'The lamp' }),
      await createIssue(ann, { title: 'The lantern flickers' }),
    ];
    const comment = async (issue: { id: string }, body: string) =>
      (await ann.post(issuePath(issue, 'comments/'), { body }).expect(201)).body.id;
    const changed = await comment(one, 'It flickers and hums, says Zoë.');
    await comment(one, 'The Lantern does not.');
    await comment(other, 'Flickers again.');
    for (const [search, ...found] of [
      ['hums', 'The lamp'],
      ['zoe hum', 'The lamp'],
      ['"flickers and hums"', 'The lamp'],
      ['"and flickers hums"'],
      ['flickers', 'The lantern flickers', 'The lamp'],
      ['lantern', 'The lantern flickers', 'The lamp'],
      // All words are in one text.
      ['lantern hums'],
      // With an excluded word, comments are not searched.
      ['flickers -hums', 'The lantern flickers'],
      ['hums -nosuchword'],
    ]) {
      expect([search, ...(await titles(`?search=${encodeURIComponent(search ?? '')}`))]).toEqual([
        search,
        ...found,
      ]);
    }
    expect((await ann.get(`${issuesPath}?search=flickers`).expect(200)).headers['x-total-count']).toBe('2');
    const pages = await ann.get('/api/v1/issue-pages/?search=flickers&page_size=1').expect(200);
    expect([pages.body.count, pages.body.results[0].title]).toEqual([2, 'The lantern flickers']);
    const counts = await ann.get(`${issuesPath}counts/?by=status&search=hums`).expect(200);
    expect(counts.body.counts[0]).toEqual({ value: 'OPEN', count: 1, is_capped: false });
    const path = issuePath(one, `comments/${changed}/`);
    await ann.patch(path, { body: 'It sparks.' }).expect(200);
    expect([await titles('?search=hums'), await titles('?search=sparks')]).toEqual([[], ['The lamp']]);
    await ann.delete(path).expect(204);
    expect(await titles('?search=sparks')).toEqual([]);
  });

  it('separates words at punctuation, in texts and in searches', async () => {
    await createIssue(ann, {
      title: 'src/tap_water.ts',
      description: 'Ask bob.tap@example.com about v1.2.3',
    });
    for (const search of [
      'tap_water',
      'water',
      'src/tap',
      '"tap water"',
      'ts -oven',
      'bob.tap',
      'v1.2.3',
      'v1',
    ]) {
      expect({ search, found: await titles(`?search=${encodeURIComponent(search)}`) }).toEqual({
        search,
        found: ['src/tap_water.ts'],
      });
    }
    for (const search of ['water -tap_water', 'v1.3', '"water tap"', `water -"tap water"`]) {
      expect({ search, found: await titles(`?search=${encodeURIComponent(search)}`) }).toEqual({
        search,
        found: [],
      });
    }
  });

  it.each([
    'a/'.repeat(100),
    '%22a+b+c+d+e+f+g+h%22+-%22i+j+k+l+m+n+o+p%22',
    '-'.repeat(200),
    '-+'.repeat(60),
    '-"'.repeat(60).replaceAll('"', '%22'),
    '-a'.repeat(60),
    '%3C%21--'.repeat(40),
    '%21%21%21',
    '%26',
    '%28',
    'a+%26+%7C+b',
    '%3A%2A',
    '%5C',
    '%27',
    '%22',
    '%F0%9F%96%A8',
    '---',
    'or+or',
  ])('accepts %s', async (search) => {
    await ann.get(`${issuesPath}?search=${search}`).expect(200);
  });

  it('returns the issue with the searched key or number first and once', async () => {
    const wanted = await createIssue(ann, { title: 'wanted' });
    const mentions = await createIssue(ann, { title: `see ${wanted.number} and ${wanted.key}` });
    const itself = await createIssue(ann, { title: 'itself' });
    await ann.put(issuePath(itself), { title: `itself ${itself.number}` }).expect(200);
    expect(await titles(`?search=${wanted.number}`)).toEqual(['wanted', mentions.title]);
    expect(await titles(`?search=iss-${wanted.number}`)).toEqual(['wanted', mentions.title]);
    expect(await titles(`?search=${itself.number}`)).toEqual([`itself ${itself.number}`]);
    expect(await titles(`?search=${wanted.number}&status=CLOSED`)).toEqual([]);
    expect(await titles('?search=9223372036854775807')).toEqual([]);
    const { headers } = await ann.get(`${issuesPath}?search=${wanted.number}`).expect(200);
    expect(headers['x-total-count']).toBe('2');
  });
});
