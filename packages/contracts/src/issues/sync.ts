import { z } from 'zod';
import { operation } from '../operation.ts';
import { uuid } from '../text.ts';
import { issueStatusSchema } from './issue-input.ts';
import {
  etagHeader,
  idempotencyHeaders,
  issueNotFound,
  issueOperation,
  issueParams,
  issuesPath,
  keyReusedCode,
  replayedHeader,
  unverifiedProblem,
} from './issue-operation.ts';
import { issueSchema } from './issue-response.ts';
import {
  attachExternalSchema,
  backfilledSchema,
  backfillQuerySchema,
  backfillSchema,
  importPreviewSchema,
  importQuerySchema,
  importSchema,
  integrationSchema,
  resolveConflictSchema,
  retriedSyncsSchema,
  retrySyncsSchema,
  syncReportSchema,
  trackerProviderSchema,
} from './tracker-sync.ts';

const path = `${issuesPath}/:id`;
// The members of a failed attempt.
const attemptMembers = {
  retry_scheduled: z.boolean().describe('Whether the background retries the sync.'),
  next_attempt_at: z.iso.datetime().nullable(),
  location: z
    .string()
    .nullable()
    .describe('`remote_moved`: the new URL of the issue, if the tracker names it.'),
};
const trackerProblems = [
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
const remoteCodes = ['remote_gone', 'remote_moved', 'remote_private', 'remote_locked'] as const;
const rejectedCodes = ['tracker_rejected', 'remote_too_large'] as const;
const rejectedDescription =
  'The request is invalid, `tracker_rejected` with its reasons, or `remote_too_large`.';
const notConfigured = {
  status: 409,
  codes: ['tracker_not_configured'],
  description: '`tracker_not_configured`.',
} as const;
const conflictNotFound = { status: 404, codes: ['issue_not_found', 'conflict_not_found'] } as const;
const issueResponse = { 200: { description: 'The issue.', schema: issueSchema, headers: etagHeader } };

export const syncIssue = operation({
  id: 'syncIssue',
  ...issueOperation,
  tags: ['Sync'],
  method: 'POST',
  path: `${path}/sync/`,
  summary: 'Synchronise an issue with the external tracker',
  description:
    'The first sync creates the issue in the tracker, once; later ones merge title, description, priority, status and comments. A field that both sides have changed is a conflict: one value is kept, and `sync.conflicts` has both. A temporary failure is retried at `next_attempt_at`.',
  params: issueParams,
  headers: idempotencyHeaders,
  body: { schema: z.object({}), optional: true, example: {} },
  responses: {
    200: {
      description: 'The synchronised issue.',
      schema: issueSchema,
      headers: { ...etagHeader, ...replayedHeader },
    },
  },
  problems: [
    401,
    403,
    issueNotFound,
    {
      status: 409,
      codes: ['tracker_not_configured', 'sync_in_progress', ...remoteCodes, 'request_in_progress'],
      members: attemptMembers,
    },
    {
      status: 422,
      codes: ['validation_failed', ...rejectedCodes, keyReusedCode],
      description: rejectedDescription,
      members: attemptMembers,
    },
    ...trackerProblems,
  ],
});

export const getSyncState = operation({
  id: 'getSyncState',
  ...issueOperation,
  tags: ['Sync'],
  method: 'GET',
  path: `${path}/sync/`,
  summary: "Read the state of an issue's sync, with its conflicts",
  description: 'Has both values of each conflict.',
  params: issueParams,
  responses: { 200: { description: 'The state.', schema: syncReportSchema } },
  problems: [401, unverifiedProblem, issueNotFound, 422],
});

export const resolveSyncConflict = operation({
  id: 'resolveSyncConflict',
  ...issueOperation,
  tags: ['Sync'],
  method: 'POST',
  path: `${path}/sync/conflicts/:conflict_id/`,
  summary: 'Resolve a sync conflict',
  description:
    'For staff. Writes the chosen value to the issue; a sync follows and writes it to the tracker. A status changes by steps of the workflow, each with its history entry. If the issue cannot hold the chosen value, nothing changes and the conflict stays: `not_storable` if `keep` is `remote`, and the text in the tracker exceeds the limits or no steps of the workflow lead to a status for the state in the tracker; `illegal_transition` if `keep` is `local`, and no steps lead back to the status. Keeping the status of the tracker reads the issue there.',
  params: issueParams.extend({ conflict_id: uuid() }),
  body: { schema: resolveConflictSchema, example: { keep: 'local' } },
  responses: issueResponse,
  problems: [
    401,
    403,
    conflictNotFound,
    {
      status: 409,
      codes: [
        'tracker_not_configured',
        'sync_in_progress',
        'not_storable',
        'external_conflict',
        'illegal_transition',
        ...remoteCodes,
      ],
      members: {
        ...attemptMembers,
        current_status: issueStatusSchema,
        allowed_transitions: z.array(issueStatusSchema),
      },
    },
    {
      status: 422,
      codes: ['validation_failed', ...rejectedCodes],
      description: rejectedDescription,
      members: attemptMembers,
    },
    ...trackerProblems,
  ],
});

export const attachExternalIssue = operation({
  id: 'attachExternalIssue',
  ...issueOperation,
  tags: ['Sync'],
  method: 'PUT',
  path: `${path}/external/`,
  summary: 'Attach an issue of the external tracker',
  description: 'For staff. A sync follows; fields that differ become conflicts.',
  params: issueParams,
  body: { schema: attachExternalSchema, example: { id: '17' } },
  responses: issueResponse,
  problems: [
    401,
    403,
    issueNotFound,
    {
      status: 409,
      codes: ['tracker_not_configured', 'sync_in_progress', 'external_taken', ...remoteCodes],
      members: {
        ...attemptMembers,
        issue_id: uuid().describe('`external_taken`: the issue that the remote issue belongs to.'),
      },
    },
    {
      status: 422,
      codes: ['validation_failed', ...rejectedCodes],
      description: rejectedDescription,
      members: attemptMembers,
    },
    ...trackerProblems,
  ],
});

export const detachExternalIssue = operation({
  id: 'detachExternalIssue',
  ...issueOperation,
  tags: ['Sync'],
  method: 'DELETE',
  path: `${path}/external/`,
  summary: 'Detach the issue of the external tracker',
  description: 'For staff. The issue of the tracker is not changed; the next sync creates a new one.',
  params: issueParams,
  responses: issueResponse,
  problems: [
    401,
    403,
    issueNotFound,
    { status: 409, codes: ['tracker_not_configured', 'sync_in_progress'] },
    422,
  ],
});

export const listIntegrations = operation({
  id: 'listIntegrations',
  tags: ['Sync'],
  security: issueOperation.security,
  method: 'GET',
  path: '/api/v1/integrations/',
  summary: 'Check the external tracker',
  description:
    'For staff. Whether syncs can work, and what to do if they cannot. A check is at most 15 seconds old. The list is empty if no tracker is configured.',
  responses: { 200: { description: 'The configured trackers.', schema: z.array(integrationSchema).max(1) } },
  problems: [401, 403],
});

export const retrySyncs = operation({
  id: 'retrySyncs',
  ...issueOperation,
  tags: ['Sync'],
  method: 'POST',
  path: '/api/v1/sync/retry/',
  summary: 'Retry the syncs of many issues',
  description:
    'For staff. Makes the issues due that the list of issues shows with the same `sync`; the background syncs them. Issues that are due already are not counted, so that a repeated request changes nothing.',
  body: { schema: retrySyncsSchema, example: { sync: 'failed' } },
  responses: { 200: { description: 'How many issues were made due.', schema: retriedSyncsSchema } },
  problems: [401, 403, notConfigured, 422],
});

const importPath = '/api/v1/sync/import/';

export const importIssues = operation({
  id: 'importIssues',
  ...issueOperation,
  tags: ['Sync'],
  method: 'POST',
  path: importPath,
  summary: 'Import the issues of the external tracker',
  description:
    'For staff. Creates an issue for each public issue of the project that belongs to none yet; the caller becomes its reporter. The background reads the list page by page, and continues after a failure or a crash; `GET` shows the progress. While an import is running, another request continues it at once. With `dry_run=true` the response lists what an import would do, page by page, and nothing is written.',
  query: importQuerySchema,
  responses: {
    200: { description: 'What an import would do (`dry_run=true`).', schema: importPreviewSchema },
    202: { description: 'The import.', schema: importSchema },
  },
  problems: [
    401,
    403,
    { status: 409, codes: ['tracker_not_configured', ...remoteCodes], members: attemptMembers },
    {
      status: 422,
      codes: ['validation_failed', ...rejectedCodes],
      description: rejectedDescription,
      members: attemptMembers,
    },
    ...trackerProblems,
  ],
});

export const getImport = operation({
  id: 'getImport',
  ...issueOperation,
  tags: ['Sync'],
  method: 'GET',
  path: importPath,
  summary: 'Read the progress of the last import',
  description: 'For staff.',
  responses: { 200: { description: 'The last import.', schema: importSchema } },
  problems: [401, 403, notConfigured],
});

export const backfillSyncs = operation({
  id: 'backfillSyncs',
  ...issueOperation,
  tags: ['Sync'],
  method: 'POST',
  path: '/api/v1/sync/backfill/',
  summary: 'Sync the issues that were never synced',
  description:
    'For staff. Makes issues due that have never been synced, the oldest first; the background creates them in the tracker. `SYNC_AUTO=all` does so only for issues that change. With `dry_run=true` nothing is written.',
  query: backfillQuerySchema,
  body: { schema: backfillSchema, optional: true, example: { limit: 100 } },
  responses: { 200: { description: 'The issues.', schema: backfilledSchema } },
  problems: [401, 403, notConfigured, 422],
});

export const takeWebhook = operation({
  id: 'takeWebhook',
  tags: ['Sync'],
  method: 'POST',
  path: '/api/v1/integrations/:provider/webhook/',
  summary: "Receive a tracker's webhook",
  description:
    'Signed by the tracker: `X-Hub-Signature-256` (GitHub), `X-Gitea-Signature` (Gitea, Forgejo), `X-Gitlab-Token` (GitLab). Causes a sync of the issue; a repeated delivery has no effect.',
  params: z.object({ provider: trackerProviderSchema.meta({ param: { example: 'gitlab' } }) }),
  headers: z.object({
    'X-Hub-Signature-256': z.string().optional().describe('GitHub: `sha256=` and the HMAC of the body.'),
    'X-Gitea-Signature': z.string().optional().describe('Gitea, Forgejo: the HMAC of the body.'),
    'X-Gitlab-Token': z.string().optional().describe('GitLab: the secret.'),
  }),
  body: { schema: z.looseObject({}), example: {} },
  responses: {
    202: {
      description: 'Accepted, or known already.',
      schema: z.object({ status: z.enum(['accepted', 'known']) }),
    },
  },
  problems: [
    {
      status: 401,
      codes: ['invalid_signature'],
      description: 'The signature of the tracker is missing or invalid.',
    },
    { status: 404, codes: ['webhook_not_configured'] },
  ],
});
