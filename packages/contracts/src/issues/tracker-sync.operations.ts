import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { uuid } from '../text.schemas.ts';
import { issueStatusSchema } from './issue-input.schemas.ts';
import { issueSchema } from './issue-response.schemas.ts';
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
} from './operation-parts.schemas.ts';
import {
  attemptMembers,
  notConfigured,
  rejectedCodes,
  rejectedDescription,
  remoteCodes,
  trackerProblems,
} from './tracker-problem.schemas.ts';
import {
  attachExternalSchema,
  integrationSchema,
  resolveConflictSchema,
  retriedSyncsSchema,
  retrySyncsSchema,
  syncReportSchema,
} from './tracker-sync.schemas.ts';

const path = `${issuesPath}/:id`;
const conflictNotFound = { status: 404, codes: ['issue_not_found', 'conflict_not_found'] } as const;
const issue = { description: 'The issue.', schema: issueSchema, headers: etagHeader };
const issueOfBody = { ...issue, headers: { ...etagHeader, ...ignoredFieldsHeader } };

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
      headers: { ...etagHeader, ...replayedHeader, ...ignoredFieldsHeader },
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
  responses: { 200: issueOfBody },
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
  responses: { 200: issueOfBody },
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
  responses: { 200: issue },
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
  responses: {
    200: {
      description: 'How many issues were made due.',
      schema: retriedSyncsSchema,
      headers: ignoredFieldsHeader,
    },
  },
  problems: [401, 403, notConfigured, 422],
});
