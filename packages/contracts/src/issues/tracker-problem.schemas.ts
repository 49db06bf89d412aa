import { z } from 'zod';

/** The members of a failed attempt. */
export const attemptMembers = {
  retry_scheduled: z.boolean().describe('Whether the background retries the sync.'),
  next_attempt_at: z.iso.datetime().nullable(),
  location: z
    .string()
    .nullable()
    .describe('`remote_moved`: the new URL of the issue, if the tracker names it.'),
};

export const trackerProblems = [
  {
    status: 502,
    codes: [
      'tracker_unavailable',
      'tracker_auth_failed',
      'project_not_found',
      'project_archived',
      'issues_disabled',
      'rest_api_disabled',
      'not_a_member',
    ],
    description: 'The tracker or its project cannot be used.',
    members: attemptMembers,
  },
  {
    status: 503,
    codes: ['tracker_rate_limited', 'tracker_busy', 'create_outcome_unknown'],
    description:
      '`tracker_rate_limited`, `tracker_busy`, or `create_outcome_unknown`; `Retry-After` has the time until a retry.',
    members: attemptMembers,
  },
  {
    status: 504,
    codes: ['tracker_timeout'],
    description: '`tracker_timeout`.',
    members: attemptMembers,
  },
] as const;

export const remoteCodes = ['remote_gone', 'remote_moved', 'remote_private', 'remote_locked'] as const;
export const rejectedCodes = ['tracker_rejected', 'remote_too_large'] as const;
export const rejectedDescription =
  'The request is invalid, `tracker_rejected` with its reasons, or `remote_too_large`.';

export const notConfigured = {
  status: 409,
  codes: ['tracker_not_configured'],
  description: '`tracker_not_configured`.',
} as const;
