import { z } from 'zod';

/** docs/spec/issue-tracking.md 4: served with and without a trailing slash, without a redirect. */
export const issuesPath = '/api/v1/issues';

/** Common members of all operations on issues. */
export const issueOperation = { tags: ['Issues'], security: ['accessToken'] };

export const issueParams = z.object({
  id: z.string().meta({
    description: 'The id, the key (`ISS-42`, case-insensitive) or the number.',
    param: { example: 'ISS-1' },
  }),
});

export const etagHeader = {
  ETag: z.string().describe('Strong ETag of the issue. Different representations have different ETags.'),
};

export const listEtagHeader = {
  ETag: z.string().describe('Weak ETag of the page, for `If-None-Match`.'),
};

export const knownEtagHeaders = z.object({
  'If-None-Match': z
    .string()
    .optional()
    .describe('ETags of earlier responses; 304 without a body if one is that of the current response.'),
});

/** The place of a change in the database; in the request of a list, one that the list must see. */
export const positionHeader = 'X-Data-Position';

/** The headers of lists and counts. */
export const listHeaders = knownEtagHeaders.extend({
  [positionHeader]: z
    .string()
    .regex(/^[\dA-F]{24}$/, { error: 'must be the value of an earlier response' })
    .optional()
    .describe(
      'The greatest value of earlier responses: the list has what was written before them. Without it, a list may be up to 5 seconds old where lists come from a standby.',
    ),
});

/** In responses of the service to identified callers. */
export const positionResponseHeader = {
  [positionHeader]: z
    .string()
    .optional()
    .describe(
      'After a successful write and in the feed of events, where lists come from a standby: a place in the database, 24 hexadecimal digits that compare as text. Keep the greatest, and send it with lists.',
    ),
};

export const locationHeader = { Location: z.string().describe('The URL of the new resource.') };

export const replayedHeader = {
  'Idempotency-Replayed': z
    .string()
    .optional()
    .describe(
      '`true` for the status and the headers of the response of an earlier request, with the current state of its issue, comment or label and the ETag of that state.',
    ),
};

export const idempotencyHeaders = z.object({
  'Idempotency-Key': z
    .string()
    .optional()
    .describe(
      '1 to 255 visible ASCII characters. A repeated request within a day gets the response of the first one and has no effect.',
    ),
});

export const idempotencyProblem = {
  status: 409,
  codes: ['request_in_progress'],
  description:
    '`request_in_progress`: a request with the same key, or another change of the same issue, is in progress.',
} as const;

/** An `Idempotency-Key` of another request. */
export const keyReusedCode = 'idempotency_key_reused';

export const issueNotFound = { status: 404, codes: ['issue_not_found'] } as const;

/** A caller whose identity is not verified, if the configuration requires it. */
export const unverifiedProblem = { status: 403, codes: ['unverified'] } as const;

/** An `If-Match` header that is no list of ETags. */
export const ifMatchProblem = { status: 400, codes: ['malformed_if_match'] } as const;

/** The identity service has no valid response for a person who is named by e-mail address or SSO id. */
export const personLookupProblems = [
  { status: 502, codes: ['identity_credentials_rejected', 'identity_answer_invalid'] },
  { status: 503, codes: ['identity_unavailable'] },
] as const;

export const preconditionHeaders = z.object({
  'If-Match': z
    .string()
    .optional()
    .describe(
      'The ETag on which the change is based. The change is refused unless `version`, the status, the links and the labels are those of the ETag; comments, the sync and names may differ. Compared strongly: a weak ETag never matches (RFC 9110 13.1.1). 400 `malformed_if_match` for anything else than `*` or ETags.',
    ),
});
