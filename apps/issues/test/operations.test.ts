import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { describeApi, findUndocumentedRoutes, listRoutes } from '@tessera/service-kit';
import { activityOperations } from '../src/activity/activity.operations.ts';
import { commentOperations } from '../src/comments/comment.operations.ts';
import { issueOperations } from '../src/issues/issue.operations.ts';
import { linkOperations } from '../src/links/link.operations.ts';
import { syncOperations } from '../src/tracker-sync/sync.operations.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

describe('the described operations on issues', () => {
  let app: TestApp;
  beforeAll(async () => {
    app = await startTestApp();
  });
  afterAll(() => app.close());

  it('are those that are served', () => {
    const document = describeApi({
      title: 'issues',
      version: '1',
      description: '',
      operations: [
        ...issueOperations,
        ...commentOperations,
        ...linkOperations,
        ...activityOperations,
        ...syncOperations,
      ],
    });
    expect(findUndocumentedRoutes(listRoutes(app.app), document)).toEqual([]);
    expect(Object.keys(document.paths ?? {})).toContain('/api/v1/issues/{id}/status/');
    expect(Object.keys(document.components?.schemas ?? {})).toEqual(
      expect.arrayContaining([
        'CreateIssue',
        'UpdateIssue',
        'Issue',
        'Comment',
        'Link',
        'Activity',
        'Problem',
      ]),
    );
  });
});
