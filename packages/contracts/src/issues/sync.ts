import { z } from 'zod';
import { operation } from '../operation.ts';
import { uuid } from '../text.ts';
import { issueSchema } from './issue-answer.ts';
import {
  etagHeader,
  idempotencyHeaders,
  issueOperation,
  issueParams,
  issuesPath,
  replayedHeader,
} from './issue-operation.ts';
import { attachExternalSchema, resolveConflictSchema, trackerProviderSchema } from './tracker-sync.ts';

const path = `${issuesPath}/:id`;
const trackerProblems = [
  { status: 502, description: '`tracker_unavailable`, or `tracker_auth_failed`.' },
  {
    status: 503,
    description:
      '`tracker_rate_limited`, `tracker_busy`, or `create_outcome_unknown`: `Retry-After` says when to try again.',
  },
  { status: 504, description: '`tracker_timeout`.' },
];
const conflictDescription =
  '`tracker_not_configured`, `sync_in_progress`, `remote_gone`, `remote_moved`, or `request_in_progress`.';
const staffConflict = {
  status: 409,
  description:
    '`tracker_not_configured`, `sync_in_progress`, `external_taken`, `remote_gone`, `remote_moved`, `not_storable`, or `illegal_transition`.',
};
const answer = { 200: { description: 'The issue.', schema: issueSchema, headers: etagHeader } };

export const syncIssue = operation({
  id: 'syncIssue',
  ...issueOperation,
  method: 'POST',
  path: `${path}/sync/`,
  summary: 'Sync an issue with the external issue tracker',
  description:
    'Creates it there the first time, once; later brings title, description, priority, status and comments together. What both sides have changed is a conflict: one value is kept, and both stand in `sync.conflicts`. A failure that time may heal is tried again by itself, at `next_attempt_at`.',
  params: issueParams,
  headers: idempotencyHeaders,
  body: { schema: z.object({}), optional: true },
  responses: {
    200: {
      description: 'The issue, in step with the tracker.',
      schema: issueSchema,
      headers: { ...etagHeader, ...replayedHeader },
    },
  },
  problems: [
    401,
    403,
    404,
    { status: 409, description: conflictDescription },
    { status: 422, description: 'The request is not valid, or `tracker_rejected` with its reasons.' },
    ...trackerProblems,
  ],
});

export const resolveSyncConflict = operation({
  id: 'resolveSyncConflict',
  ...issueOperation,
  method: 'POST',
  path: `${path}/sync/conflicts/:conflict_id/`,
  summary: 'Decide a conflict of the sync',
  description: 'For staff. The value that is not there yet is written here, and synced soon after.',
  params: issueParams.extend({ conflict_id: uuid() }),
  body: { schema: resolveConflictSchema },
  responses: answer,
  problems: [401, 403, 404, staffConflict, 422],
});

export const attachExternalIssue = operation({
  id: 'attachExternalIssue',
  ...issueOperation,
  method: 'PUT',
  path: `${path}/external/`,
  summary: 'Make an issue of the tracker the counterpart of this one',
  description: 'For staff. The two are brought together soon after; what differs is a conflict.',
  params: issueParams,
  body: { schema: attachExternalSchema },
  responses: answer,
  problems: [401, 403, 404, staffConflict, 422, ...trackerProblems],
});

export const detachExternalIssue = operation({
  id: 'detachExternalIssue',
  ...issueOperation,
  method: 'DELETE',
  path: `${path}/external/`,
  summary: 'Part an issue from its counterpart in the tracker',
  description: 'For staff. The counterpart stays as it is; the next sync creates another one.',
  params: issueParams,
  responses: answer,
  problems: [401, 403, 404, staffConflict, 422],
});

export const takeWebhook = operation({
  id: 'takeWebhook',
  tags: ['Sync'],
  method: 'POST',
  path: '/api/v1/integrations/:provider/webhook/',
  summary: "Take a tracker's webhook",
  description:
    'Signed by the tracker: `X-Hub-Signature-256` (GitHub), `X-Gitea-Signature` (Gitea, Forgejo), `X-Gitlab-Token` (GitLab). A hint to sync the issue that it is about; a delivery that comes again does nothing.',
  params: z.object({ provider: trackerProviderSchema }),
  body: { schema: z.looseObject({}) },
  responses: {
    202: {
      description: 'Taken.',
      schema: z.object({ status: z.enum(['accepted', 'known']) }),
    },
  },
  problems: [401, 404],
});
