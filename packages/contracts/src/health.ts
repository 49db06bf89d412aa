import { z } from 'zod';
import { operation } from './operation.ts';

function readinessSchema(status: 'ready' | 'not_ready') {
  return z.object({ status: z.literal(status), checks: z.record(z.string(), z.boolean()) });
}

export const getLiveness = operation({
  id: 'getLiveness',
  method: 'GET',
  path: '/healthz',
  summary: 'Whether the process is alive',
  tags: ['Operations'],
  responses: {
    200: { description: 'It is.', schema: z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' }) },
  },
});

export const getReadiness = operation({
  id: 'getReadiness',
  method: 'GET',
  path: '/readyz',
  summary: 'Whether the service can serve now',
  tags: ['Operations'],
  responses: {
    200: { description: 'It can.', schema: readinessSchema('ready').meta({ id: 'Ready' }) },
    503: {
      description: 'It cannot; `checks` says what is missing.',
      schema: readinessSchema('not_ready').meta({ id: 'NotReady' }),
    },
  },
});
