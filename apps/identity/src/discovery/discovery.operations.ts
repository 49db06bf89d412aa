import { discoveryDocumentSchema } from '@tessera/contracts';
import type { ApiOperation } from '@tessera/service-kit';
import { z } from 'zod';
import { discoveryPath } from './discovery.router.ts';

/** What the two public documents are cached by. */
export const cacheableHeaders = {
  'Cache-Control': z.string().describe('How long the document may be kept.'),
  ETag: z.string().describe('For `If-None-Match`.'),
};

export const discoveryOperations: ApiOperation[] = [
  {
    method: 'GET',
    path: discoveryPath,
    operationId: 'getDiscoveryDocument',
    summary: 'Discovery document',
    description:
      'Where the other endpoints are and what they support. Public, cacheable, readable from any origin.',
    tags: ['OpenID Connect'],
    responses: {
      200: {
        description: 'The discovery document.',
        schema: discoveryDocumentSchema,
        headers: cacheableHeaders,
      },
      304: { description: 'The client has this document already.' },
    },
  },
];
