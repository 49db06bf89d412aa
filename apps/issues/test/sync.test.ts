import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIssue, getIssue, issuePath } from './support/issues.ts';
import { aPerson, type TestPerson } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
let ann: TestPerson;
beforeAll(async () => {
  app = await startTestApp();
  ann = await aPerson(app);
});
afterAll(() => app.close());

describe('POST /api/v1/issues/{id}/sync/', () => {
  it('returns 409 without a configured tracker, with and without an empty body, and changes nothing', async () => {
    const issue = await createIssue(ann);
    expectProblem(await ann.post(issuePath(issue, 'sync/')), 409, 'tracker_not_configured');
    expectProblem(await ann.post(issuePath(issue, 'sync'), {}), 409, 'tracker_not_configured');
    expect(await getIssue(ann, issue)).toEqual(issue);
    expect(issue.sync.state).toBe('not_configured');
  });

  it('is allowed to reporter, assignee and staff only', async () => {
    const stranger = await aPerson(app);
    expectProblem(await stranger.post(issuePath(await createIssue(ann), 'sync/')), 403, 'forbidden');
  });

  it('returns 422 for a body that is not an object', async () => {
    const issue = await createIssue(ann);
    expectInvalidFields(await ann.post(issuePath(issue, 'sync/')).type('json').send('[]'), ['body']);
  });
});
