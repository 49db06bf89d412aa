import { introspectionRequestSchema, introspectionSchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';

export const introspectionOperations: ApiOperation[] = [
  {
    method: 'POST',
    path: '/internal/introspect',
    operationId: 'introspectToken',
    summary: 'Ask whether a token is good at this moment',
    description:
      'RFC 7662. Active is what would be accepted now: an access token at `/userinfo`, a refresh token at `/token/refresh`. Asking changes nothing. Look at `token_use`: a refresh token is no proof of who calls.',
    tags: ['Internal identity API'],
    security: ['serviceToken'],
    body: { schema: introspectionRequestSchema, form: introspectionRequestSchema },
    responses: { 200: { description: 'What it is, or `active: false`.', schema: introspectionSchema } },
    problems: [403, 422],
  },
];
