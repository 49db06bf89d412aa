import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Activity, activitySchema } from '@tessera/contracts';
import { createIssue, issuePath } from './support/issues.ts';
import { followLinks } from './support/pages.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
});
afterAll(() => app.close());

describe('GET /api/v1/issues/{id}/activity/', () => {
  it('returns the actor, the time and the request of every change to any active user', async () => {
    const issue = await createIssue(ann);
    await ann.put(issuePath(issue), { priority: 'LOW' }).set('X-Request-Id', 'request-17').expect(200);
    const stranger = await aPerson(app);
    const { body } = await stranger.get(issuePath(issue, 'activity/')).expect(200);
    const [created, updated] = activitySchema.array().parse(body);
    expect(created).toMatchObject({ kind: 'created', issue_id: issue.id, at: issue.created_at });
    expect(updated).toEqual({
      id: expect.any(Number),
      issue_id: issue.id,
      kind: 'updated',
      field: 'priority',
      old: 'MEDIUM',
      new: 'LOW',
      actor: { id: ann.id, username: ann.username },
      at: expect.any(String),
      origin: 'local',
      request_id: 'request-17',
    });
  });

  it('pages through the whole history, oldest first', async () => {
    const issue = await createIssue(ann);
    for (let index = 0; index < 12; index += 1) {
      await ann.put(issuePath(issue), { title: `title ${index}` }).expect(200);
    }
    const pages = await followLinks<Activity>(ann, issuePath(issue, 'activity/?limit=5'));
    expect(pages.map((page) => page.length)).toEqual([5, 5, 3]);
    expect(
      pages
        .flat()
        .slice(1)
        .map((line) => line.new),
    ).toEqual(Array.from({ length: 12 }, (_, index) => `title ${index}`));
    const newest = await followLinks<Activity>(ann, issuePath(issue, 'activity/?limit=5&order=newest'));
    expect(newest.map((page) => page.length)).toEqual([5, 5, 3]);
    expect(newest.flat()).toEqual(pages.flat().toReversed());
  });

  it('ends a page before 512 KiB, or after a single larger entry, and links to the next page', async () => {
    const issue = await createIssue(ann);
    const descriptions = Array.from({ length: 4 }, (_, index) => `${index}${'🖨'.repeat(64_999)}`);
    for (const description of descriptions) {
      await ann.put(issuePath(issue), { description }).expect(200);
    }
    for (const title of ['a', 'b']) await ann.put(issuePath(issue), { title }).expect(200);
    const pages = await followLinks<Activity>(ann, issuePath(issue, 'activity/'));
    expect(pages.map((page) => page.length)).toEqual([2, 1, 1, 3]);
    expect(pages.flat().map((line) => line.new)).toEqual([null, ...descriptions, 'a', 'b']);
    const newest = await followLinks<Activity>(ann, issuePath(issue, 'activity/?order=newest'));
    expect(newest.map((page) => page.length)).toEqual([3, 1, 1, 2]);
    expect(newest.flat()).toEqual(pages.flat().toReversed());
  });

  it('keeps the full text of a replaced description', async () => {
    const description = 'é'.repeat(65_000);
    const issue = await createIssue(ann, { description });
    await ann.put(issuePath(issue), { description: '' }).expect(200);
    const { body } = await ann.get(issuePath(issue, 'activity/')).expect(200);
    expect(body[1].old).toBe(description);
  });

  it('shows an assignee with the current username', async () => {
    const bob = await aPerson(app);
    const issue = await createIssue(ann, { assignee_id: bob.id });
    await ann.put(issuePath(issue), { assignee_id: ann.id }).expect(200);
    await app.sql(`UPDATE identity_mirror SET username = 'robert' WHERE id = $1`, [bob.id]);
    const { body } = await ann.get(issuePath(issue, 'activity/')).expect(200);
    expect(body[1]).toMatchObject({
      field: 'assignee',
      old: { id: bob.id, username: 'robert' },
      new: { id: ann.id, username: ann.username },
    });
  });
});
