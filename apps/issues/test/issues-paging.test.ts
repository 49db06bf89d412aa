import { createHash } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type IssueSummary, issuePageSchema, issueSummarySchema } from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIssue, issuesPath } from './support/issues.ts';
import { followLinks, nextOf, pathOf } from './support/pages.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const pagesPath = '/api/v1/issue-pages/';
let app: TestApp;
let ann: TestPerson;
let wanted: string[];

beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
  // Many issues share a time and a title, so that only the tie-breaker orders them.
  await app.sql(
    `INSERT INTO issues (id, title, description, priority, reporter_id, created_at, updated_at, search)
     SELECT gen_random_uuid(), 'wanted ' || n % 3, 'lorem', (enum_range(NULL::issue_priority))[1 + n % 5], $1,
            now() - (n / 50) * interval '1 hour', now() - (n % 7) * interval '1 hour', 'wanted lorem'
       FROM generate_series(1, 250) n`,
    [ann.id],
  );
  wanted = (await app.sql('SELECT id FROM issues ORDER BY created_at DESC, id DESC')).map((row) => row.id);
});
afterAll(() => app.close());

const wholePageSchema = issuePageSchema.extend({ results: issueSummarySchema.array() });

const idsOf = (issues: readonly IssueSummary[]) => issues.map(({ id }) => id);
const addAnother = async () => {
  await createIssue(ann, { title: 'in between' });
};
// The issues that existed at the start, without those created in between.
const readOf = (pages: IssueSummary[][]) => {
  const all = idsOf(pages.flat());
  expect(new Set(all).size).toBe(all.length);
  return all.filter((id) => wanted.includes(id));
};

async function readEnvelopes(path: string, between = addAnother) {
  const pages: ReturnType<typeof wholePageSchema.parse>[] = [];
  for (let next: string | null = path; next !== null; ) {
    const page = wholePageSchema.parse((await ann.get(next).expect(200)).body);
    pages.push(page);
    next = page.next === null ? null : pathOf(page.next);
    if (pages.length > 100) throw new Error('the pages have no end');
    if (next !== null) await between();
  }
  return pages;
}

describe('reading 250 issues while others are created', () => {
  it('returns each issue once by the Link header of the array', async () => {
    expect(readOf(await followLinks<IssueSummary>(ann, issuesPath, addAnother))).toEqual(wanted);
  });

  it('returns each issue once by the Link header if the members lack the sort fields', async () => {
    const query = '?fields=id&ordering=-priority,title&limit=40';
    const expected = (await followLinks<IssueSummary>(ann, `${issuesPath}?ordering=-priority,title`)).flat();
    const pages = await followLinks<Pick<IssueSummary, 'id'>>(ann, `${issuesPath}${query}`);
    expect(pages.flat()).toEqual(expected.map(({ id }) => ({ id })));
  });

  it('returns each issue once by limit and cursor', async () => {
    expect(readOf(await followLinks<IssueSummary>(ann, `${issuesPath}?limit=33`, addAnother))).toEqual(
      wanted,
    );
  });

  it.each([`${pagesPath}?page_size=40`, pagesPath])(
    'returns each issue once by the next member of %s, with an exact count',
    async (path) => {
      const pages = await readEnvelopes(path);
      expect(readOf(pages.map(({ results }) => results))).toEqual(wanted);
      const [{ count } = { count: 0 }] = await app.sql('SELECT count(*)::int AS count FROM issues');
      expect(pages.at(-1)?.count).toBe(count);
    },
  );

  it.each([
    'created_at',
    'updated_at',
    '-updated_at',
    'priority',
    '-priority',
    'title',
    '-title',
    '-number',
    'status',
  ])('returns each issue once ordered by %s', async (ordering) => {
    const path = `${issuesPath}?limit=40&search=lorem&ordering=${ordering}`;
    const pages = await followLinks<IssueSummary>(ann, path, addAnother);
    const all = (await followLinks<IssueSummary>(ann, path.replace('limit=40', 'limit=200'))).flat();
    expect(pages.flat()).toEqual(all);
    expect(new Set(idsOf(all))).toEqual(new Set(wanted));
    const values = all.map((issue) => Reflect.get(issue, ordering.replace('-', '')));
    if (!/priority|status/.test(ordering)) {
      const sorted = [...values].sort((a, b) => (a < b ? -1 : a > b ? 1 : 0));
      expect(values).toEqual(ordering.startsWith('-') ? sorted.reverse() : sorted);
    }
  });

  it.each(['priority,-title', '-priority,created_at', 'title,-updated_at,priority', '-status,number'])(
    'returns each issue once ordered by %s',
    async (ordering) => {
      const path = `${issuesPath}?limit=40&search=lorem&ordering=${ordering}`;
      const pages = await followLinks<IssueSummary>(ann, path, addAnother);
      const all = (await followLinks<IssueSummary>(ann, path.replace('limit=40', 'limit=200'))).flat();
      expect(pages.flat()).toEqual(all);
      expect(new Set(idsOf(all))).toEqual(new Set(wanted));
    },
  );
});

describe('the array format', () => {
  it('has LIST_MAX issues and a Link header when the client sets no limit', async () => {
    const small = await startTestApp({ LIST_MAX: '7' }, app);
    const response = await ann.on(small).get(`${issuesPath}?search=lorem`).expect(200);
    expect(response.body).toHaveLength(7);
    expect(response.headers['x-total-count']).toBe('250');
    expect(nextOf(response)).toBeDefined();
    await small.close();
  });

  it('keeps the query in the URL of the next page and has no Link on the last page', async () => {
    const query =
      'limit=100&search=lorem&priority=LOW&priority=HIGH&created_after=2000-01-01T00:00:00%2B02:00';
    const first = await ann.get(`${issuesPath}?${query}`).expect(200);
    expect(first.headers['x-total-count']).toBe('100');
    expect(first.headers.link).toBeUndefined();
    const second = await ann.get(`${issuesPath}?${query.replace('100', '10')}`).expect(200);
    const { searchParams } = new URL(nextOf(second) ?? '', 'http://x');
    searchParams.delete('cursor');
    expect([...searchParams]).toEqual([
      ['limit', '10'],
      ['search', 'lorem'],
      ['priority', 'LOW'],
      ['priority', 'HIGH'],
      ['created_after', '2000-01-01T00:00:00+02:00'],
    ]);
    expect(await ann.get(nextOf(second) ?? '')).toMatchObject({ status: 200 });
  });

  it('ignores the Host header', async () => {
    const { headers } = await ann.get(`${issuesPath}?limit=1`).set('Host', 'evil.example.com').expect(200);
    expect(headers.link).toMatch(/^<https:\/\/issues\.test\//);
  });

  it('returns no X-Total-Count and no page by number above 10,000 issues', async () => {
    const many = await startTestApp();
    const bob = await aPerson(many);
    await many.sql(
      `INSERT INTO issues (id, title, description, priority, reporter_id, search)
       SELECT gen_random_uuid(), 'x', 'many', 'LOW', $1, 'many' FROM generate_series(1, 10000) n`,
      [bob.id],
    );
    const total = async (query: string) =>
      (await bob.get(`${issuesPath}?limit=1&${query}`).expect(200)).headers['x-total-count'];
    expect(await total('')).toBe('10000');
    expect(await total('search=many')).toBe('10000');
    await createIssue(bob);
    for (let time = 0; time < 2; time += 1) expect(await total('')).toBeUndefined();
    expect(await total('search=many')).toBeUndefined();
    expect(await total('search=printer')).toBe('1');
    expect(await total('priority=LOW')).toBe('10000');
    expect(await total('priority=MEDIUM')).toBe('1');

    await createIssue(bob);
    const page = (number: number) => bob.get(`${pagesPath}?page=${number}&page_size=1`);
    const { body: reachable } = await page(10_001).expect(200);
    const { body: last } = await bob.get(pathOf(reachable.next)).expect(200);
    expect([reachable.results.length, last.results.length, last.next]).toEqual([1, 1, null]);
    const problem = await page(10_002);
    expectProblem(problem, 422, 'validation_failed');
    expect(problem.body.errors).toEqual([
      { field: 'page', message: 'must begin after at most 10000 issues; follow next for further ones' },
    ]);
    expectProblem(await page(10_003), 404, 'invalid_page');
    await many.close();
  });

  it('puts the issue with the searched number first on the first page and on no other page', async () => {
    const [{ number } = { number: 0 }] = await app.sql(
      'SELECT number FROM issues ORDER BY created_at LIMIT 1',
    );
    for (let time = 0; time < 3; time += 1) await createIssue(ann, { title: `about ${number}` });
    for (const size of [1, 2, 3, 4]) {
      const pages = await followLinks<IssueSummary>(ann, `${issuesPath}?search=${number}&limit=${size}`);
      const found = pages.flat().map((issue) => issue.number);
      expect(found[0]).toBe(number);
      expect(found).toHaveLength(4);
      expect(new Set(found).size).toBe(4);
      const envelopes = await readEnvelopes(
        `${pagesPath}?search=${number}&page_size=${size}`,
        async () => undefined,
      );
      expect(envelopes.flatMap(({ results }) => results.map((issue) => issue.number))).toEqual(found);
      expect(envelopes[0]?.count).toBe(4);
    }
  });
});

describe('the envelope format', () => {
  it('has a count, next and previous', async () => {
    const { body: first } = await ann.get(`${pagesPath}?search=lorem&page_size=100`).expect(200);
    expect(first).toMatchObject({ count: 250, previous: null });
    const { body: second } = await ann.get(pathOf(first.next)).expect(200);
    const { body: third } = await ann.get(pathOf(second.next)).expect(200);
    expect([first, second, third].map(({ results }) => results.length)).toEqual([100, 100, 50]);
    expect(third.next).toBeNull();
    expect((await ann.get(pathOf(third.previous))).body.results).toEqual(second.results);
    expect((await ann.get(pathOf(second.previous))).body).toEqual(first);
  });

  it('returns a page by its number, with 50 issues by default', async () => {
    const { body } = await ann.get(`${pagesPath}?search=lorem&page=5`).expect(200);
    expect(body.results).toHaveLength(50);
    expect(body.next).toBeNull();
    expect(idsOf(body.results)).toEqual(wanted.slice(200));
  });

  it('returns 404 past the last page and an empty first page', async () => {
    for (const page of [6, 1_000_000_000]) {
      const response = await ann.get(`${pagesPath}?search=lorem&page=${page}`);
      expectProblem(response, 404, 'invalid_page');
      expect(response.body.detail).toBe('Invalid page.');
    }
    const { body } = await ann.get(`${pagesPath}?search=nosuchword&page=1`).expect(200);
    expect(body).toEqual({ count: 0, is_complete: true, next: null, previous: null, results: [] });
  });
});

describe('a cursor', () => {
  const cursorOf = async (query: string, person = ann) => {
    const next = nextOf(await person.get(`${issuesPath}?${query}`).expect(200));
    return new URL(next ?? '', 'http://x').searchParams.get('cursor') ?? '';
  };

  it('is valid for its filters and ordering with any limit', async () => {
    const cursor = await cursorOf('limit=1&priority=LOW,HIGH&ordering=-number');
    const use = (query: string) => ann.get(`${issuesPath}?${query}&cursor=${cursor}`);
    await use('limit=5&priority=LOW,HIGH&ordering=-number').expect(200);
    for (const query of [
      'priority=LOW&ordering=-number',
      'priority=LOW,HIGH&ordering=number',
      'limit=1',
      'search=x',
    ]) {
      expectInvalidFields(await use(query), ['cursor']);
    }
  });

  it('is rejected when another user sends it with reporter=me', async () => {
    const bob = await aPerson(app);
    const cursor = await cursorOf('limit=1&reporter=me');
    expectInvalidFields(await bob.get(`${issuesPath}?limit=1&reporter=me&cursor=${cursor}`), ['cursor']);
  });

  it('is rejected when any character is changed', async () => {
    const cursor = await cursorOf('limit=1');
    for (let place = 0; place < cursor.length - 1; place += 1) {
      const other = cursor[place] === 'A' ? 'B' : 'A';
      const altered = cursor.slice(0, place) + other + cursor.slice(place + 1);
      expectInvalidFields(await ann.get(`${issuesPath}?limit=1&cursor=${altered}`), ['cursor']);
    }
  });

  it('is rejected when its values are invalid although the checksum matches', async () => {
    const sort = [
      { field: 'created_at', descending: true },
      { field: 'id', descending: true },
    ];
    for (const content of [
      '["x","y"]',
      '[1]',
      '["2026-01-01T00:00:00.000Z",null]',
      'null',
      '{}',
      '[',
      '["\u0000","x"]',
      '["0000-01-01T00:00:00.000Z","01980c5e-0000-7000-8000-000000000001"]',
    ]) {
      const checksum = createHash('sha256')
        .update(JSON.stringify([{ list: {}, sort }, content]))
        .digest('base64url')
        .slice(0, 16);
      const cursor = checksum + Buffer.from(content).toString('base64url');
      expectInvalidFields(await ann.get(`${issuesPath}?cursor=${cursor}`), ['cursor']);
    }
  });
});
