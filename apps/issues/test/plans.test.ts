import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { IssueDocument } from '../src/issues/issue-document.repository.ts';
import { IssueListRepository } from '../src/issues/issue-list.repository.ts';
import { fillWithIssues } from './support/many-issues.ts';
import { explain, planCases } from './support/plans.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

const count = 200_000;
let app: TestApp;
let client: pg.Client;
let lists: IssueListRepository;

beforeAll(async () => {
  app = await startTestApp();
  client = new pg.Client({ connectionString: app.databaseUrl });
  await client.connect();
  await fillWithIssues(client, count);
  // As the list's connections have it.
  await client.query('SET enable_seqscan = off');
  lists = new IssueListRepository(app.database, new IssueDocument('ISS'));
}, 60_000);
afterAll(async () => {
  await client.end();
  await app.close();
});

describe(`among ${count} issues`, () => {
  it.each(planCases(count))('$name is found by an index', async ({ request, indexes, visited }) => {
    const plan = await explain(client, lists.statement(request));
    expect(plan.tableScans).toBe(0);
    expect(indexes).toContain(plan.indexes.find((index) => indexes.includes(index)));
    expect(plan.visited).toBeLessThanOrEqual(visited);
  });
});
