import { z } from 'zod';

/** issue-tracking.md 4: with a slash at the end or without, both are served in place. */
export const issuesPath = '/api/v1/issues';

/** What every operation on issues shares. */
export const issueOperation = { tags: ['Issues'], security: ['accessToken'] };

export const issueParams = z.object({
  id: z.string().describe('The id, the key (`ISS-42`, in any case) or the number.'),
});

export const etagHeader = {
  ETag: z.string().describe('Strong; of everything that the issue shows.'),
};

export const locationHeader = { Location: z.string().describe('Where it is from now on.') };

export const replayedHeader = {
  'Idempotency-Replayed': z
    .string()
    .optional()
    .describe('`true` where this is the answer of an earlier request.'),
};

export const idempotencyHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .describe(
      '1 to 255 visible ASCII characters. The same request sent again within a day is answered, not done again.',
    ),
});

export const idempotencyProblem = {
  status: 409,
  description: '`request_in_progress`: the same request is still running.',
};

export const preconditionHeaders = z.object({
  'If-Match': z.string().optional().describe('The ETag that the change is based on.'),
});
