import { jwkSetSchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { cacheableHeaders } from '../discovery/discovery.operations.ts';
import { jwksPath } from './jwks.router.ts';

export const jwksOperations: ApiOperation[] = [
  {
    method: 'GET',
    path: jwksPath,
    operationId: 'getKeySet',
    summary: 'Key set',
    description:
      'The public keys that access tokens are verified by; select by `kid`. Public, cacheable, readable from any origin.',
    tags: ['OpenID Connect'],
    responses: {
      200: { description: 'The JSON Web Key Set.', schema: jwkSetSchema, headers: cacheableHeaders },
      304: { description: 'The client has this key set already.' },
    },
  },
];
