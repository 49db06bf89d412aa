import { z } from 'zod';
import type { ApiOperation } from './api-operation.ts';

function readinessSchema(status: 'ready' | 'not_ready') {
  return z.object({ status: z.literal(status), checks: z.record(z.string(), z.boolean()) });
}

/** The two probes, as every service answers them. */
export const healthOperations: ApiOperation[] = [
  {
    method: 'GET',
    path: '/healthz',
    operationId: 'getLiveness',
    summary: 'Whether the process is alive',
    tags: ['Operations'],
    responses: {
      200: { description: 'It is.', schema: z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' }) },
    },
  },
  {
    method: 'GET',
    path: '/readyz',
    operationId: 'getReadiness',
    summary: 'Whether the service can serve now',
    tags: ['Operations'],
    responses: {
      200: { description: 'It can.', schema: readinessSchema('ready').meta({ id: 'Ready' }) },
      503: {
        description: 'It cannot; `checks` says what is missing.',
        schema: readinessSchema('not_ready').meta({ id: 'NotReady' }),
      },
    },
  },
];
