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
  description: 'Reports that the process runs, even if a dependency is down.',
  tags: ['Operations'],
  responses: {
    200: {
      description: 'The process is alive.',
      schema: z.object({ status: z.literal('ok') }).meta({ id: 'Liveness' }),
    },
  },
});

export const getReadiness = operation({
  id: 'getReadiness',
  method: 'GET',
  path: '/readyz',
  summary: 'Whether the service is ready',
  description: 'Checks the dependencies of the service, such as its database, at most every two seconds.',
  tags: ['Operations'],
  responses: {
    200: { description: 'The service is ready.', schema: readinessSchema('ready').meta({ id: 'Ready' }) },
    503: {
      description: 'The service is not ready; `checks` has the failed checks.',
      schema: readinessSchema('not_ready').meta({ id: 'NotReady' }),
    },
  },
});
