import { z } from 'zod';
import type { ProblemCode } from './problem-reference.ts';

/** An invalid field and the reason. `field` is the wire name; nested names are joined with dots. */
export const fieldErrorSchema = z.object({ field: z.string(), message: z.string() });
export type FieldError = z.infer<typeof fieldErrorSchema>;

/**
 * The common error body of both services: members of RFC 9457, a stable machine-readable `code`, and the request's
 * id. A 422 also has `errors`.
 */
export const problemSchema = z
  .looseObject({
    type: z
      .string()
      .meta({ format: 'uri-reference' })
      .describe(
        'The URL of the entry of the code in the reference, a page that says what it means and what to do: the public URL of the service with `/api/problems/` and the code.',
      ),
    title: z.string().describe('The reason phrase of the status.'),
    status: z.int().min(400).max(599),
    detail: z.string().describe('A description for people, without internals.'),
    code: z
      .string()
      .describe(
        'Stable and machine-readable. Each response of an operation lists its values; a later release may add some.',
      ),
    request_id: z.string(),
    errors: z.array(fieldErrorSchema).optional(),
  })
  .meta({ id: 'Problem' });
export type Problem = z.infer<typeof problemSchema>;

/** The codes of errors that many operations have in common, by status. */
export const commonCodes = {
  400: ['bad_request', 'invalid_request', 'malformed_body', 'malformed_path', 'malformed_request'],
  401: ['unauthorized', 'invalid_token', 'identity_inactive'],
  403: ['forbidden', 'unverified'],
  408: ['request_timeout'],
  412: ['precondition_failed'],
  413: ['body_too_large'],
  415: ['unsupported_media_type'],
  422: ['validation_failed'],
  428: ['precondition_required'],
  429: ['too_many_requests'],
  500: ['internal_error'],
  503: ['temporarily_unavailable'],
} as const satisfies Record<number, readonly ProblemCode[]>;
export type CommonCodes = typeof commonCodes;

/** The errors of requests that reach no operation. Part of the description of both APIs. */
export const transportErrors =
  'A request that is not valid HTTP gets 400 `malformed_request`, one with more than 16 KiB of header 431 `headers_too_large`, and one that does not arrive in time 408 `request_timeout`; the connection is then closed.';

/** The error body of `/token`, `/token/refresh`, `/token/revoke` and `/userinfo`: with the members of RFC 6749 5.2. */
export const oauthProblemSchema = problemSchema
  .extend({ error: z.string(), error_description: z.string() })
  .meta({ id: 'OAuthProblem' });
export type OAuthProblem = z.infer<typeof oauthProblemSchema>;
