import type { ApiOperation, ApiResponse } from '@tessera/service-kit';
import { z } from 'zod';

const fields = {
  'RateLimit-Policy': z
    .string()
    .optional()
    .describe('The limit: its name, `q` requests in `w` seconds (draft-ietf-httpapi-ratelimit-headers).'),
  RateLimit: z.string().optional().describe('What is left of it: `r` requests, whole again in `t` seconds.'),
};

/** Describes what the limits add to every operation that an identity may use. */
export function describeRateLimits(operations: readonly ApiOperation[]): ApiOperation[] {
  return operations.map((operation) =>
    operation.security === undefined
      ? operation
      : {
          ...operation,
          responses: Object.fromEntries(
            Object.entries(operation.responses).map(([status, response]) => [status, withFields(response)]),
          ),
          problems: [...(operation.problems ?? []), 429],
        },
  );
}

function withFields(response: ApiResponse): ApiResponse {
  return { ...response, headers: { ...response.headers, ...fields } };
}
