import type { ProblemEntry } from '../problem-reference.ts';

/** The codes of the issues service, without those of its tracker. */
export const issuesProblemReference = {
  cannot_read: {
    meaning: 'The person to be assigned may not read the issue.',
    action: 'Choose another person, or let a manager of the project add this one. `errors` names the field.',
  },
  comment_not_found: {
    meaning: 'The issue has no such comment, or it was deleted.',
    action: 'Read the comments again.',
  },
  conflict_not_found: {
    meaning: 'The issue has no such conflict, or it is resolved.',
    action: 'Read the state of the sync again.',
  },
  cross_site_request: {
    meaning: 'The request to the web session does not come from the app, so another site may have caused it.',
    action: 'Other programs use `/api/v1` with an access token instead of the session of a browser.',
  },
  delivery_not_found: {
    meaning: 'The endpoint has no such delivery, or it is older than deliveries are kept.',
    action: 'Read the deliveries of the endpoint again.',
  },
  delivery_pending: {
    meaning: 'The delivery is still being attempted.',
    action: 'Wait for the next attempt, whose time the delivery shows.',
  },
  external_comment: {
    meaning: 'The comment comes from the external tracker.',
    action: 'Change it there; the next sync copies it.',
  },
  external_conflict: {
    meaning: 'The conflict is about which remote issue belongs to the issue.',
    action: 'Attach the other remote issue with `PUT …/external/`, or keep the local one.',
  },
  external_taken: {
    meaning: 'Another issue has this remote issue.',
    action: 'Detach it there first, or attach another remote issue.',
  },
  idempotency_key_reused: {
    meaning: 'The `Idempotency-Key` was used for another request of the same user.',
    action: 'Send a new key with each new request, and the same key only with a retry.',
  },
  identity_answer_invalid: {
    meaning: 'The identity service gave a response that this service does not understand.',
    action: 'An operator checks IDENTITY_URL, and that the releases of both services fit.',
  },
  identity_conflict: {
    meaning: 'The identity service refuses the change, because another identity has one of the values.',
    action: 'Choose another value.',
  },
  identity_credentials_rejected: {
    meaning: 'The identity service refuses the service token of this service.',
    action: 'An operator sets the same SERVICE_TOKEN in both services.',
  },
  identity_unavailable: {
    meaning: 'The identity service does not respond. Nothing was changed.',
    action: 'Retry after the seconds in `Retry-After`.',
  },
  attachment_not_found: {
    meaning: 'There is no such file, or it was deleted.',
    action: 'Read the files of the issue again. A file that no text named is deleted after 7 days.',
  },
  attachment_too_large: {
    meaning: 'The file has more than 25 MiB.',
    action: 'Make the file smaller, or put it elsewhere and link to it.',
  },
  digest_mismatch: {
    meaning: 'The bytes of the file have another hash than `Repr-Digest` says.',
    action: 'Upload the file again.',
  },
  illegal_transition: {
    meaning: 'The workflow has no step from the present status to the requested one.',
    action: 'Choose one of `allowed_transitions` in the body.',
  },
  invalid_page: {
    meaning: 'The page is past the end of the list.',
    action: 'Begin again at page 1; the list has become shorter.',
  },
  invalid_signature: {
    meaning: 'The signature of the webhook is missing or wrong.',
    action: 'Set the same secret in the tracker and in this service.',
  },
  issue_not_found: {
    meaning: 'There is no such issue.',
    action: 'Check the key, the number or the id.',
  },
  label_exists: {
    meaning: 'Another label has this name, in any case.',
    action: 'Use the label that exists, or choose another name.',
  },
  label_not_found: {
    meaning: 'There is no such label.',
    action: 'Read the labels again, or let staff create it.',
  },
  last_manager: {
    meaning: 'The project would have no manager.',
    action: 'Make another member a manager first.',
  },
  length_required: {
    meaning: 'The upload has no `Content-Length`.',
    action: 'Send the length of the file, not a chunked body.',
  },
  link_not_found: {
    meaning: 'The issue has no such link.',
    action: 'Read the issue again.',
  },
  member_not_found: {
    meaning: 'The person is no member of the project.',
    action: 'Read the members again.',
  },
  parent_exists: {
    meaning: 'The part has a parent already.',
    action: 'Send `replace`, or delete that relation first.',
  },
  project_key_taken: {
    meaning: 'A project has this key, or had it.',
    action: 'Choose another key.',
  },
  quota_exceeded: {
    meaning:
      'The person has 100 MiB of files without an issue, or has uploaded 1 GiB within a day, or the store has no room.',
    action: 'Name the files in an issue, delete some, or ask the operator for room.',
  },
  range_not_satisfiable: {
    meaning: 'The file has no byte of the range.',
    action: 'Read `Content-Range`, which has the size of the file.',
  },
  relation_cycle: {
    meaning:
      'The issues would block each other, or be parents or duplicates of each other, over any number of issues.',
    action: 'Read the relations of both issues.',
  },
  relation_not_found: {
    meaning: 'The issue has no such relation.',
    action: 'Read its relations again.',
  },
  relation_too_deep: {
    meaning: 'Parents would have more than 5 levels, or more than 1,000 issues would follow each other.',
    action: 'Relate the issue to one nearer to the beginning.',
  },
  malformed_if_match: {
    meaning: 'The header `If-Match` is neither `*` nor a list of ETags in double quotes.',
    action: 'Send the value of the `ETag` header as it is.',
  },
  not_storable: {
    meaning: 'An issue cannot hold the value of the tracker.',
    action: 'Keep the local value, or change the status of the issue first, as `detail` says.',
  },
  other_user: {
    meaning: 'The session of the browser belongs to another person than the request.',
    action: 'Reload the page.',
  },
  precondition_failed: {
    meaning: 'The resource has changed since the ETag in `If-Match`.',
    action: 'Read it again, decide, and send the change with the new ETag.',
  },
  precondition_required: {
    meaning: 'This installation requires `If-Match` or `version` with a change.',
    action: 'Read the issue, and send its ETag or `version` with the change.',
  },
  request_in_progress: {
    meaning:
      'A request with the same `Idempotency-Key`, or another change of the same issue, is still running.',
    action: 'Send the same request again after a moment, with the same key.',
  },
  session_ended: {
    meaning: 'The session of the browser has ended.',
    action: 'Sign in again.',
  },
  session_unavailable: {
    meaning: 'The session of the browser cannot be refreshed or judged now. It is kept.',
    action: 'Retry after the seconds in `Retry-After`.',
  },
  status_not_writable: {
    meaning: 'This operation does not change the status of an issue.',
    action: 'Change it through `POST /api/v1/issues/{id}/status/`.',
  },
  storage_unavailable: {
    meaning: 'The store of files does not respond.',
    action: 'Try again after the seconds in `Retry-After`. Nothing was stored.',
  },
  streams_exhausted: {
    meaning: 'This process has no stream of events left.',
    action: 'Connect again after the seconds in `Retry-After`, or poll the list of events.',
  },
  too_many_attachments: {
    meaning: 'The text names more than 20 files, or the issue would have more than 200.',
    action: 'Name fewer files, or delete some of the issue.',
  },
  too_many_labels: {
    meaning: 'There are as many labels as possible.',
    action: 'Staff delete labels that are not used.',
  },
  too_many_members: {
    meaning: 'The project has as many members as possible.',
    action: 'Remove members who no longer need the project.',
  },
  too_many_projects: {
    meaning:
      'There are as many projects as possible, or the person is a member of as many projects that are not open to everyone.',
    action: 'Use a project that exists, or remove the person from another project.',
  },
  too_many_streams: {
    meaning: 'The user has too many open streams of events.',
    action: 'Close one, or share one stream among the tabs of a browser.',
  },
  too_many_uploads: {
    meaning: 'Too many transfers of files are in progress, of the caller or in the process.',
    action: 'Wait until one has ended, or for the seconds in `Retry-After`.',
  },
  too_many_views: {
    meaning: 'The person has as many views as possible, or shares as many.',
    action: 'Delete a view, or share no other.',
  },
  too_many_webhooks: {
    meaning: 'There are as many webhook endpoints as possible.',
    action: 'Delete an endpoint that is not used.',
  },
  tracker_linked: {
    meaning: 'The issue has a remote issue in the external tracker, which belongs to the default project.',
    action: 'Staff detach it first, with `DELETE …/external/`.',
  },
  unknown_identity: {
    meaning: 'A field names a person who does not exist or is not active.',
    action: 'Choose a person of the list of users. `errors` names the field.',
  },
  user_not_found: {
    meaning: 'There is no such user.',
    action: 'Read the list of users again.',
  },
  version_conflict: {
    meaning: 'The issue or the project has changed since the `version` of the request.',
    action: 'Compare with `issue` or `project` in the body, decide, and send the change with its `version`.',
  },
  view_not_found: {
    meaning: 'There is no such view, or it belongs to another person alone.',
    action: 'Read the list of views again.',
  },
  webhook_disabled: {
    meaning: 'The webhook endpoint is disabled.',
    action: 'Enable the endpoint first; `disabled_reason` says why it was disabled.',
  },
  webhook_not_configured: {
    meaning: 'This service accepts no webhooks of this tracker.',
    action: 'An operator sets TRACKER_PROVIDER and the secret of the webhook.',
  },
  webhook_not_found: {
    meaning: 'There is no such webhook endpoint.',
    action: 'Read the endpoints again.',
  },
} as const satisfies Readonly<Record<string, ProblemEntry>>;
