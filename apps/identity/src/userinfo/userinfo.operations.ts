import { userInfoSchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';

const common = {
  path: '/userinfo',
  summary: 'Who the access token is about',
  tags: ['OpenID Connect'],
  security: ['accessToken'],
  oauth: true,
  responses: { 200: { description: 'The identity, as it is now.', schema: userInfoSchema } },
  problems: [
    { status: 400, description: 'The Authorization header is malformed or given twice (`invalid_request`).' },
    { status: 401, description: 'No access token, or one that is not valid (`invalid_token`).' },
  ],
} satisfies Partial<ApiOperation>;

export const userInfoOperations: ApiOperation[] = [
  { ...common, method: 'GET', operationId: 'getUserInfo' },
  {
    ...common,
    method: 'POST',
    operationId: 'postUserInfo',
    description: 'The same (OpenID Connect Core 5.3.1).',
  },
];
