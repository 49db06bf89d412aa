import { describeApi, healthOperations, type OpenApiDocument } from '@tessera/service-kit';
import { activityOperations } from './activity/activity.operations.ts';
import { commentOperations } from './comments/comment.operations.ts';
import { issueOperations } from './issues/issue.operations.ts';
import { linkOperations } from './links/link.operations.ts';
import { describeRateLimits } from './rate-limit/rate-limit.operations.ts';
import { syncOperations } from './tracker-sync/sync.operations.ts';
import { userOperations } from './users/user.operations.ts';

/** The service's OpenAPI document; a test holds it and the routes together. */
export function describeIssuesApi(): OpenApiDocument {
  return describeApi({
    title: 'Tessera issues',
    version: '1.2.1',
    description:
      'The issue tracker. Sign in at the identity service and send its access token. Paths answer with and without the slash at their end. Additive changes only: clients ignore members that they do not know.',
    operations: describeRateLimits([
      ...issueOperations,
      ...commentOperations,
      ...linkOperations,
      ...activityOperations,
      ...syncOperations,
      ...userOperations,
      ...healthOperations,
    ]),
    securitySchemes: { accessToken: { type: 'http', scheme: 'bearer', bearerFormat: 'JWT' } },
    tags: [
      { name: 'Issues' },
      { name: 'Comments' },
      { name: 'Links' },
      { name: 'Activity' },
      { name: 'Sync' },
      { name: 'Users' },
      { name: 'Operations' },
    ],
  });
}
