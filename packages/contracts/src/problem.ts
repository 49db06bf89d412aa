import { z } from 'zod';

/** An invalid field and the reason. `field` is the wire name; nested names are joined with dots. */
export const fieldErrorSchema = z.object({ field: z.string(), message: z.string() });
export type FieldError = z.infer<typeof fieldErrorSchema>;

/**
 * The common error body of both services: members of RFC 9457 (without `type`, which means about:blank), a stable
 * machine-readable `code`, and the request's id. A 422 also has `errors`.
 */
export const problemSchema = z
  .looseObject({
    title: z.string().describe('The reason phrase of the status.'),
    status: z.int().min(400).max(599),
    detail: z.string().describe('A description for people, without internals.'),
    code: z.string().describe('Stable and machine-readable.'),
    request_id: z.string(),
    errors: z.array(fieldErrorSchema).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

/** The error body of `/token`, `/token/refresh`, `/token/revoke` and `/userinfo`: with the members of RFC 6749 5.2. */
export const oauthProblemSchema = problemSchema
  .extend({ error: z.string(), error_description: z.string() })
  .meta({ id: 'OAuthProblem' });
export type OAuthProblem = z.infer<typeof oauthProblemSchema>;
