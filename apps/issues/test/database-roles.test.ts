import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate } from '@tessera/service-kit/migrate';
import { createServiceDatabase, withRole } from '@tessera/stack/postgres';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import pg from 'pg';
import { prismaDir, tableRights } from '../src/database.ts';
import { createIssue, getIssue, issuePath, issuesPath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the database role of the service, if another role runs the migrations', () => {
  let app: TestApp;
  let ann: TestPerson;
  let service: pg.Client;
  beforeAll(async () => {
    const role = `issues_${randomBytes(6).toString('hex')}`;
    const owner = { role: `${role}_owner`, password: 'owner' };
    const url = await createServiceDatabase(process.env.TEST_ADMIN_URL ?? '', {
      database: role,
      role,
      password: 'service',
      owner,
    });
    const serviceRole = { name: role, tableRights };
    await migrate({ connectionString: withRole(url, owner), prismaDir, serviceRole });
    app = await startTestApp({}, { databaseUrl: url });
    ann = await aPerson(app);
    service = new pg.Client({ connectionString: url });
    await service.connect();
  });
  afterAll(async () => {
    await service.end();
    await app.close();
  });

  it('is allowed to write, list and search issues and to read their history', async () => {
    const issue = await createIssue(ann, { title: 'Crème brûlée' });
    await ann.put(issuePath(issue), { priority: 'LOW' }).expect(200);
    await ann.post(issuePath(issue, 'comments/'), { body: 'Delicious.' }).expect(201);
    const { body: found } = await ann.get(`${issuesPath}?search=creme`).expect(200);
    expect(found.map(({ id }: { id: string }) => id)).toEqual([issue.id]);
    expect((await getIssue(ann, issue)).comments_count).toBe(1);
    const { body: history } = await ann.get(issuePath(issue, 'activity/')).expect(200);
    expect(history.map(({ kind }: { kind: string }) => kind)).toEqual([
      'created',
      'updated',
      'comment_added',
    ]);
    await untilDeliverable(app);
    const { body: feed } = await ann.get('/api/v1/events/').expect(200);
    expect(feed.events.map(({ type }: { type: string }) => type)).toEqual([
      'issue.created',
      'issue.updated',
      'issue.commented',
    ]);
  });

  it.each([
    `UPDATE activity SET kind = 'y'`,
    'DELETE FROM activity',
    `UPDATE events SET type = 'y'`,
    'TRUNCATE issues CASCADE',
    'ALTER TABLE activity DISABLE TRIGGER ALL',
    'DROP TABLE activity',
    'CREATE TABLE mine (id int)',
    'DELETE FROM _prisma_migrations',
  ])('is not allowed to %s', async (statement) => {
    await createIssue(ann);
    const history = () => app.sql('SELECT * FROM activity ORDER BY id');
    const before = await history();
    await expect(service.query(statement)).rejects.toMatchObject({ code: '42501' });
    expect(await history()).toEqual(before);
  });
});
