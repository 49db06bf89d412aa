import { z } from 'zod';
import { operation } from '../operation.ts';
import { trackerProviderSchema } from './tracker-sync.schemas.ts';

export const takeWebhook = operation({
  id: 'takeWebhook',
  tags: ['Sync'],
  method: 'POST',
  path: '/api/v1/integrations/:provider/webhook/',
  summary: "Receive a tracker's webhook",
  description:
    'Signed by the tracker: `X-Hub-Signature-256` (GitHub), `X-Gitea-Signature` (Gitea, Forgejo), `X-Gitlab-Token` (GitLab). Causes a sync of the issue; a repeated delivery has no effect.',
  params: z.object({ provider: trackerProviderSchema.meta({ param: { example: 'gitlab' } }) }),
  headers: z.object({
    'X-Hub-Signature-256': z.string().optional().describe('GitHub: `sha256=` and the HMAC of the body.'),
    'X-Gitea-Signature': z.string().optional().describe('Gitea, Forgejo: the HMAC of the body.'),
    'X-Gitlab-Token': z.string().optional().describe('GitLab: the secret.'),
  }),
  body: { schema: z.looseObject({}), example: {} },
  responses: {
    202: {
      description: 'Accepted, or known already.',
      schema: z.object({ status: z.enum(['accepted', 'known']) }),
    },
  },
  problems: [
    {
      status: 401,
      codes: ['invalid_signature'],
      description: 'The signature of the tracker is missing or invalid.',
    },
    { status: 404, codes: ['webhook_not_configured'] },
  ],
});
