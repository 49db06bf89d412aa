import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  guestRelationsMax,
  guestRelationsOfOneMax,
  type Issue,
  parentLevelsMax,
  type Relation,
  relationsMax,
} from '@tessera/contracts';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIssue, etagOf, getIssue, historyOf, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import './support/response-guard.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let apps: [TestApp, TestApp];
let ann: TestPerson;
let bob: TestPerson;
beforeAll(async () => {
  const app = await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' });
  apps = [app, await startTestApp({ RATE_LIMIT_WRITES_PER_MINUTE: '0' }, app)];
  ann = await aPerson(app);
  bob = await aPerson(app);
});
afterAll(async () => {
  for (const app of apps.toReversed()) await app.close();
});

const path = (issue: Issue, id?: string) => issuePath(issue, `relations/${id === undefined ? '' : `${id}/`}`);
const relate = (issue: Issue, kind: string, other: Issue, more: object = {}, person = ann) =>
  person.post(path(issue), { kind, issue: other.key, ...more });
const list = async (issue: Issue) => (await ann.get(path(issue)).expect(200)).body;
const issues = (count: number) => Promise.all(Array.from({ length: count }, () => createIssue(ann)));

describe('relations of issues', () => {
  it('are shown by both issues, and are in the history and the events of both', async () => {
    const [one, two] = (await issues(2)) as [Issue, Issue];
    expect(await list(one)).toEqual([]);
    const { body, headers } = await relate(one, 'blocks', two).expect(201);
    expect(headers.etag).toBe(await etagOf(ann, one));
    const related = {
      ...body,
      direction: 'incoming',
      issue: { id: one.id, key: one.key, title: one.title, status: 'OPEN' },
    };
    expect(body).toMatchObject({
      kind: 'blocks',
      direction: 'outgoing',
      issue: { key: two.key },
      created_by: ann.id,
    });
    expect([await list(one), await list(two)]).toEqual([[body], [related]]);
    // The same relation, seen from both sides.
    await relate(one, 'blocks', two).expect(200);
    expect((await relate(two, 'blocks', one, { direction: 'incoming' }).expect(200)).body).toEqual(related);
    await bob.delete(path(two, body.id)).expect(403);
    await ann.delete(path(two, body.id)).expect(204);
    expect(await list(one)).toEqual([]);
    expectProblem(await ann.delete(path(two, body.id)), 404, 'relation_not_found');
    const value = (direction: string, other: Issue) => ({
      relation: 'blocks',
      direction,
      issue_id: other.id,
      number: other.number,
    });
    for (const [issue, direction, other] of [
      [one, 'outgoing', two],
      [two, 'incoming', one],
    ] as const) {
      expect((await historyOf(ann, issue)).slice(1)).toMatchObject([
        { kind: 'relation_added', new: value(direction, other) },
        { kind: 'relation_removed', old: value(direction, other) },
      ]);
      const events = await apps[0].sql(
        `SELECT data FROM events WHERE subject_id = $1 AND type = 'issue.updated'`,
        [issue.id],
      );
      expect(events.map(({ data }) => data.changed)).toEqual([['relations'], ['relations']]);
      expect((await getIssue(ann, issue)).version).toBe(1);
    }
  });

  it('are changed by those who may change the issue of the path, in the state of their ETag', async () => {
    const [one, two] = (await issues(2)) as [Issue, Issue];
    const own = await createIssue(bob);
    expectProblem(await relate(one, 'relates', own, {}, bob), 403, 'forbidden');
    await relate(own, 'relates', one, {}, bob).expect(201);
    // It has no direction.
    await relate(one, 'relates', own).expect(200);
    const etag = await etagOf(ann, one);
    await ann.patch(issuePath(one), { title: 'Changed' }).expect(200);
    expectProblem(await relate(one, 'blocks', two).set('If-Match', etag), 412, 'precondition_failed');
    await relate(one, 'blocks', two)
      .set('If-Match', await etagOf(ann, one))
      .expect(201);
  });

  it.each([
    ['kind', { kind: 'causes' }],
    ['direction', { direction: 'both' }],
    ['issue', { issue: 'x' }],
    ['issue', { issue: randomUUID() }],
    ['issue', { issue: 'ISS-2147483647' }],
  ])('refuses an invalid %s: %j', async (field, change) => {
    const [one, two] = (await issues(2)) as [Issue, Issue];
    expectInvalidFields(await relate(one, 'blocks', two, change), [field]);
    expectInvalidFields(await relate(one, 'blocks', one), ['issue']);
  });

  it.each(['blocks', 'parent', 'duplicate'])('by %s never lead back to an issue', async (kind) => {
    const [one, two, three] = (await issues(3)) as [Issue, Issue, Issue];
    await relate(one, kind, two).expect(201);
    await relate(two, kind, three).expect(201);
    expectProblem(await relate(three, kind, one), 409, 'relation_cycle');
    expectProblem(await relate(one, kind, three, { direction: 'incoming' }), 409, 'relation_cycle');
    expect(await list(three)).toHaveLength(1);
  });

  it('of two processes that would close a cycle together: exactly one succeeds', async () => {
    for (let round = 0; round < 5; round += 1) {
      const [one, two, three] = (await issues(3)) as [Issue, Issue, Issue];
      await relate(one, 'blocks', two).expect(201);
      const [here, there] = apps.map((app) => ann.on(app)) as [TestPerson, TestPerson];
      const answers = await Promise.all([
        relate(two, 'blocks', three, {}, here),
        relate(three, 'blocks', one, {}, there),
      ]);
      expect(answers.map(({ status }) => status).sort()).toEqual([201, 409]);
    }
  });

  it('to parents have five levels, and an issue has one parent', async () => {
    const line = await issues(parentLevelsMax + 1);
    for (let level = 1; level < parentLevelsMax; level += 1)
      await relate(line[level - 1] as Issue, 'parent', line[level] as Issue).expect(201);
    const [first, second] = line as [Issue, Issue];
    const last = line.at(-1) as Issue;
    const tooDeep = await relate(line.at(-2) as Issue, 'parent', last);
    expectProblem(tooDeep, 409, 'relation_too_deep');
    expect(tooDeep.body.detail).toBe('Parents would have more than 5 levels.');
    expectProblem(await relate(last, 'parent', first), 409, 'relation_too_deep');
    expectProblem(await relate(last, 'parent', second), 409, 'parent_exists');
    await relate(first, 'parent', last).expect(201);
  });

  it('to a parent take the place of another one if asked, by those who may change the part', async () => {
    const [one, two, part] = (await issues(3)) as [Issue, Issue, Issue];
    const parentOf = async (issue: Issue) =>
      (await list(issue)).map((relation: Relation) => relation.issue.key);
    await relate(one, 'parent', part).expect(201);
    const incoming = { direction: 'incoming', replace: true };
    // A refused request leaves the parent.
    expectProblem(await relate(part, 'parent', part, incoming), 422, 'validation_failed');
    expectProblem(await relate(part, 'parent', two, { direction: 'incoming' }), 409, 'parent_exists');
    await relate(part, 'blocks', two, { replace: true }).expect(201);
    await ann.delete(path(part, (await list(two))[0].id)).expect(204);
    const others = await createIssue(bob);
    expectProblem(await relate(others, 'parent', part, { replace: true }, bob), 409, 'parent_exists');
    expect(await parentOf(part)).toEqual([one.key]);
    await relate(part, 'parent', two, incoming).expect(201);
    expect([await parentOf(part), await list(one)]).toEqual([[two.key], []]);
    await relate(one, 'parent', part, { replace: true }).expect(201);
    expect([await parentOf(part), await list(two)]).toEqual([[one.key], []]);
    await relate(part, 'parent', one, incoming).expect(200);
    const kinds = async (issue: Issue) =>
      (await historyOf(ann, issue)).map((entry: { kind: string }) => entry.kind).slice(1);
    const [added, removed] = ['relation_added', 'relation_removed'];
    expect(await kinds(one)).toEqual([added, removed, added]);
    expect((await kinds(two)).slice(-2)).toEqual([added, removed]);
    expect((await kinds(part)).slice(-4)).toEqual([removed, added, removed, added]);
    const [first, second] = apps.map((app) => ann.on(app)) as [TestPerson, TestPerson];
    const answers = await Promise.all([
      relate(part, 'parent', two, incoming, first),
      relate(part, 'parent', others, incoming, second),
    ]);
    expect(answers.map(({ status }) => status)).toEqual([201, 201]);
    expect(await parentOf(part)).toHaveLength(1);
  });

  it('by which an open issue blocks another one are a mark in lists that ask for it, of issues that the reader sees', async () => {
    const [blocker, blocked, other] = (await issues(3)) as [Issue, Issue, Issue];
    const ids = [blocker, blocked, other].map(({ id }) => id).join();
    const read = async (known = '', person = ann) =>
      person.get(`/api/v1/issues/?id=${ids}&fields=id,is_blocked`).set('If-None-Match', known);
    const blockedOf = async (person = ann) =>
      (await read('', person)).body.flatMap((row: { id: string; is_blocked: boolean }) =>
        row.is_blocked ? [row.id] : [],
      );
    expect(await blockedOf()).toEqual([]);
    await relate(blocker, 'blocks', blocked).expect(201);
    await relate(other, 'relates', blocker).expect(201);
    expect(await blockedOf()).toEqual([blocked.id]);
    const { etag } = (await read()).headers;
    expect((await read(etag)).status).toBe(304);
    // The blocked issue itself does not change.
    await ann.post(issuePath(blocker, 'status/'), { status: 'RESOLVED' }).expect(200);
    expect((await read(etag)).status).toBe(200);
    expect(await blockedOf()).toEqual([]);
    await ann.post(issuePath(blocker, 'status/'), { status: 'REOPENED' }).expect(200);
    expect(await blockedOf(ann.on(apps[1]))).toEqual([blocked.id]);
    const staff = await aPerson(apps[0], { is_staff: true });
    await staff.post('/api/v1/projects/', { key: 'HID', name: 'Hidden', visibility: 'members' }).expect(201);
    const hidden = await createIssue(staff, { project: 'HID' });
    await relate(hidden, 'blocks', other, {}, staff).expect(201);
    const both = [blocked.id, other.id].sort();
    expect((await blockedOf(staff)).sort()).toEqual(both);
    expect(await blockedOf()).toEqual([blocked.id]);
    // Neither reader gets the text of the other.
    expect((await blockedOf(staff)).sort()).toEqual(both);
  });

  it('are at most a hundred of an issue', async () => {
    const [one, two] = (await issues(2)) as [Issue, Issue];
    await apps[0].sql(
      `WITH i AS (
         INSERT INTO issues (id, title, description, priority, reporter_id)
         SELECT gen_random_uuid(), 'x', '', 'LOW', $1 FROM generate_series(1, $3::int) RETURNING id
       ) INSERT INTO issue_relations (id, source_id, target_id, kind, created_by)
         SELECT gen_random_uuid(), $2, id, 'blocks', $1 FROM i`,
      [ann.id, one.id, relationsMax],
    );
    expectInvalidFields(await relate(one, 'relates', two), ['issue']);
    expectInvalidFields(await relate(two, 'relates', one), ['issue']);
    expect(await list(one)).toHaveLength(relationsMax);
  });

  it('by people who may not change an issue leave half of its list to those who may', async () => {
    const [one, two] = (await issues(2)) as [Issue, Issue];
    const own = await Promise.all(Array.from({ length: guestRelationsOfOneMax + 1 }, () => createIssue(bob)));
    // In both directions.
    for (const [index, issue] of own.slice(1).entries())
      await relate(
        issue,
        'blocks',
        one,
        { direction: index % 2 === 0 ? 'incoming' : 'outgoing' },
        bob,
      ).expect(201);
    expectInvalidFields(await relate(own[0] as Issue, 'relates', one, {}, bob), ['issue']);
    // The same relation as before is none more, and another person has the same number.
    await relate(own[1] as Issue, 'blocks', one, { direction: 'incoming' }, bob).expect(200);
    const cat = await aPerson(apps[0]);
    await relate(await createIssue(cat), 'relates', one, {}, cat).expect(201);
    await apps[0].sql(
      `WITH i AS (
         INSERT INTO issues (id, title, description, priority, reporter_id)
         SELECT gen_random_uuid(), 'x', '', 'LOW', $1 FROM generate_series(1, $3::int) RETURNING id
       ) INSERT INTO issue_relations (id, source_id, target_id, kind, created_by, guest_of)
         SELECT gen_random_uuid(), id, $2, 'blocks', gen_random_uuid(), $2 FROM i`,
      [ann.id, one.id, guestRelationsMax - guestRelationsOfOneMax - 1],
    );
    const dan = await aPerson(apps[0]);
    expectInvalidFields(await relate(await createIssue(dan), 'relates', one, {}, dan), ['issue']);
    // The people of the issue add others, also one of Bob's, and remove those of Bob.
    await relate(one, 'relates', two).expect(201);
    await relate(one, 'duplicate', own[0] as Issue).expect(201);
    const [first] = await list(one);
    await ann.delete(path(one, first.id)).expect(204);
    await relate(own[0] as Issue, 'relates', one, {}, bob).expect(201);
  });
});
