import type { ProblemEntry } from '../problem-reference.ts';

/** The codes of syncs with the external tracker. */
export const trackerProblemReference = {
  create_outcome_unknown: {
    meaning: 'It is not known whether an earlier request has created something in the other service.',
    action: 'Look for it there, or retry: the next attempt finds what exists.',
  },
  issues_disabled: {
    meaning: 'Issues are disabled in the project of the external tracker.',
    action: 'An operator enables them there.',
  },
  not_a_member: {
    meaning: 'The account of this service lacks a permission in the project of the external tracker.',
    action: 'An operator gives it a role that may view, create and edit issues and add comments.',
  },
  project_archived: {
    meaning:
      'The project of the request is archived; for a sync, that of the external tracker is archived or closed.',
    action: 'Choose another project. For a sync, an operator reopens it, or corrects TRACKER_PROJECT.',
  },
  project_not_found: {
    meaning: 'There is no such project; for a sync, the external tracker shows this service none.',
    action:
      'Read the projects again. For a sync, an operator corrects TRACKER_PROJECT or TRACKER_URL, or gives the account access.',
  },
  remote_gone: {
    meaning: 'The issue no longer exists in the external tracker.',
    action: 'Staff detach it, or attach another one.',
  },
  remote_locked: {
    meaning: 'The issue is locked in the external tracker, which accepts no comments. Its fields are synced.',
    action: 'Unlock it there.',
  },
  remote_moved: {
    meaning: 'The issue is no longer in the project of the external tracker.',
    action: 'Staff attach another one, or detach it. `location` has the new URL, if it is known.',
  },
  remote_private: {
    meaning: 'The issue is private in the external tracker, but every user of this service would see it.',
    action: 'Make it public there, or let staff detach it.',
  },
  remote_too_large: {
    meaning: 'A text of the issue in the external tracker is too large to be read.',
    action: 'Shorten it there.',
  },
  rest_api_disabled: {
    meaning: "Redmine's REST API is off.",
    action: 'An operator enables it under Administration, Settings, API.',
  },
  sync_in_progress: {
    meaning: 'Another sync of this issue is running.',
    action: 'Retry after a moment.',
  },
  tracker_auth_failed: {
    meaning: 'The external tracker rejects the credentials of this service.',
    action: 'An operator corrects TRACKER_TOKEN, or unlocks the account.',
  },
  tracker_busy: {
    meaning: 'The issue keeps changing in the external tracker.',
    action: 'Wait: `next_attempt_at` has the time of the next attempt.',
  },
  tracker_not_configured: {
    meaning: 'No external tracker is configured.',
    action: 'An operator sets TRACKER_PROVIDER and its variables.',
  },
  tracker_rate_limited: {
    meaning: 'The external tracker accepts no requests for a while, or has not responded to the last ones.',
    action: 'Wait for the seconds in `Retry-After`.',
  },
  tracker_rejected: {
    meaning: 'The external tracker rejects the content of the issue.',
    action: 'Change what `errors` names.',
  },
  tracker_timeout: {
    meaning: 'The external tracker did not respond in time.',
    action: 'Wait: the sync is attempted again. An operator checks TRACKER_URL and the network.',
  },
  tracker_unavailable: {
    meaning: 'The external tracker gives no usable response.',
    action: 'Wait: the sync is attempted again. An operator checks TRACKER_URL and the network.',
  },
} as const satisfies Readonly<Record<string, ProblemEntry>>;
