import { z } from 'zod';

/** One refused input: which field, and why. `field` is the wire name; nested names are joined with dots. */
export const fieldErrorSchema = z.object({ field: z.string(), message: z.string() });
export type FieldError = z.infer<typeof fieldErrorSchema>;

/**
 * The one error body of both services: RFC 9457 members (`type` absent means about:blank),
 * a stable machine-readable `code`, and the request's id. `errors` accompanies validation failures (422).
 */
export const problemSchema = z
  .looseObject({
    title: z.string().describe('The status in words.'),
    status: z.int().min(400).max(599),
    detail: z.string().describe('What went wrong, for a person. Never internals.'),
    code: z.string().describe('Stable and machine-readable.'),
    request_id: z.string(),
    errors: z.array(fieldErrorSchema).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

/** The error body of `/token`, `/token/refresh`, `/token/revoke` and `/userinfo`: RFC 6749 5.2's members are added. */
export const oauthProblemSchema = problemSchema
  .extend({ error: z.string(), error_description: z.string() })
  .meta({ id: 'OAuthProblem' });
export type OAuthProblem = z.infer<typeof oauthProblemSchema>;
