import { z } from 'zod';
import { uuid } from '../text.schemas.ts';

const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');

/** External trackers that issues can be synced with. */
export const trackerProviders = ['redmine', 'github', 'gitlab', 'gitea'] as const;
export const trackerProviderSchema = z.enum(trackerProviders);
export type TrackerProvider = z.infer<typeof trackerProviderSchema>;

/** The fields of an issue that are synced. */
export const syncedFields = ['title', 'description', 'priority', 'status'] as const;
export const syncedFieldSchema = z.enum(syncedFields);
export type SyncedField = z.infer<typeof syncedFieldSchema>;

/**
 * The names of the values that a sync pushes and pulls: the fields, and the labels, which are merged without conflicts.
 */
export const syncedParts = [...syncedFields, 'labels'] as const;
const syncedPartSchema = z.enum(syncedParts);
export type SyncedPart = z.infer<typeof syncedPartSchema>;

/** An issue in an external tracker. */
export const externalIssueSchema = z
  .object({
    provider: z.string(),
    id: z.string().describe("The tracker's id of the issue."),
    key: z.string().meta({ example: '#17' }),
    url: z.string(),
    state: z.string().nullable().describe("The tracker's name of the state."),
    author: z
      .string()
      .nullable()
      .describe('The author of an imported issue in the tracker; null for other issues.'),
    created_at: timestamp
      .nullable()
      .describe('When an imported issue was created in the tracker; null for other issues.'),
  })
  .meta({ id: 'ExternalIssue' });

export const conflictReasons = [
  'both_changed',
  'overwritten',
  'not_applied',
  'not_storable',
  'not_representable',
  'duplicate_remote',
  'marker_copied',
] as const;

/** The synced fields, and the remote issue itself. */
export const conflictFields = [...syncedFields, 'external'] as const;

/** A field whose local and remote value could not be merged, with both values. */
export const syncConflictSchema = z
  .object({
    id: uuid(),
    field: z
      .enum(conflictFields)
      .describe('`external`: the remote issue itself; the values are URLs of remote issues.'),
    reason: z.enum(conflictReasons).meta({
      description:
        '`both_changed` since the last sync; `overwritten`: someone changed the field in the tracker while a sync updated it there; `not_applied`: the tracker accepted the change without applying it; `not_storable`: the value of the tracker exceeds the limits of an issue; `not_representable`: no step of the workflow leads to the status in the tracker; `duplicate_remote`: an earlier request created a second remote issue; `marker_copied`: another remote issue contains the marker of this one.',
    }),
    local: z.string(),
    remote: z.string(),
    base: z.string().nullable().describe('The value of both sides at the last sync.'),
    kept: z.enum(['local', 'remote']).nullable().describe('Null until the conflict is resolved.'),
    at: timestamp,
  })
  .meta({ id: 'SyncConflict' });
export type SyncConflict = z.infer<typeof syncConflictSchema>;

/** Maximum size of the newest conflicts in an issue and in the sync state, in bytes of JSON. */
export const embeddedConflictsBytesMax = 64 * 1024;
export const conflictsBytesMax = 900 * 1024;

/** The changes of the last successful sync. */
export const syncResultSchema = z
  .object({
    created: z.boolean().describe('Whether the sync created the issue in the tracker.'),
    pushed: z.array(syncedPartSchema),
    pulled: z.array(syncedPartSchema),
    comments_pushed: z.int().nonnegative(),
    comments_pulled: z.int().nonnegative(),
  })
  .meta({ id: 'SyncResult' });
export type SyncResult = z.infer<typeof syncResultSchema>;

export const syncStates = [
  'not_configured',
  'not_synced',
  'synced',
  'changed',
  'retrying',
  'failed',
] as const;

/** Filters issues whose sync needs attention. */
export const syncFilterSchema = z.enum(['failed', 'conflict', 'stale'], {
  error: 'must be failed, conflict or stale',
});
export type SyncFilter = z.infer<typeof syncFilterSchema>;

/** The sync state of an issue in a list. */
export const syncSummarySchema = z
  .object({
    state: z.enum(syncStates).meta({
      description:
        '`not_configured`: the service has no tracker; `not_synced`: never synced; `synced`; `changed`: changed locally since the last sync; `retrying`: the last attempt failed and another is due; `failed`: the last attempt failed, and is not retried.',
    }),
    last_synced_at: timestamp.nullable(),
    last_result: syncResultSchema.nullable(),
    last_error: z.string().nullable().describe('The `code` of the last attempt.'),
    moved_to: z.string().nullable().describe('The new location of an issue that was moved in the tracker.'),
    conflicts_count: z.int().nonnegative(),
    next_attempt_at: timestamp.nullable(),
  })
  .meta({ id: 'SyncSummary' });

/** The sync state of an issue. */
export const syncStateSchema = syncSummarySchema
  .extend({
    conflicts: z
      .array(syncConflictSchema)
      .describe('The newest conflicts: at most 64 KiB in an issue, 900 KiB in its sync state.'),
  })
  .meta({ id: 'SyncState' });
export type SyncState = z.infer<typeof syncStateSchema>;

/** GET /api/v1/issues/{id}/sync/ */
export const syncReportSchema = syncStateSchema
  .extend({
    last_messages: z
      .array(z.string())
      .describe("The tracker's messages about the last failure: at most 10, of at most 300 characters each."),
  })
  .meta({ id: 'SyncReport' });
export type SyncReport = z.infer<typeof syncReportSchema>;

export const integrationCheckSchema = z
  .object({
    name: z.enum([
      'reachable',
      'credentials',
      'project',
      'permissions',
      'statuses',
      'priorities',
      'type',
      'custom_fields',
    ]),
    status: z
      .enum(['ok', 'failed', 'skipped'])
      .describe('`skipped`: it cannot be checked before an earlier one is ok.'),
    detail: z.string().nullable().describe('The problem and its solution.'),
    reason: z.string().nullable().describe('The technical reason, such as `responded 401`.'),
    messages: z.array(z.string()).describe("The tracker's messages."),
  })
  .meta({ id: 'IntegrationCheck' });
export type IntegrationCheck = z.infer<typeof integrationCheckSchema>;

/** A configured external tracker. */
export const integrationSchema = z
  .object({
    provider: trackerProviderSchema,
    url: z.string(),
    project: z.string(),
    state: z.enum(['ok', 'failed']),
    checked_at: timestamp,
    checks: z.array(integrationCheckSchema),
    failed_syncs: z
      .array(
        z.object({
          last_error: z.string(),
          count: z.int().positive(),
          detail: z.string().describe('Advice on the error.'),
        }),
      )
      .describe('The issues whose sync failed and has no retry scheduled, by error.'),
  })
  .meta({ id: 'Integration' });
export type Integration = z.infer<typeof integrationSchema>;

/** POST /api/v1/issues/{id}/sync/conflicts/{conflict_id}/ */
export const resolveConflictSchema = z
  .object({ keep: z.enum(['local', 'remote'], { error: 'must be local or remote' }) })
  .meta({ id: 'ResolveConflict' });
export type ResolveConflict = z.infer<typeof resolveConflictSchema>;

export const syncRetriesMax = 1_000;

/** POST /api/v1/sync/retry/ */
export const retrySyncsSchema = z
  .object({
    sync: syncFilterSchema,
    last_error: z
      .string()
      .regex(/^[a-z_]{1,64}$/, { error: 'must be the code of an error' })
      .optional()
      .describe('Only issues whose last sync failed with this `code`.'),
    limit: z.int().min(1).max(syncRetriesMax).default(syncRetriesMax),
  })
  .meta({ id: 'RetrySyncs' });
export type RetrySyncs = z.output<typeof retrySyncsSchema>;

export const retriedSyncsSchema = z
  .object({
    made_due: z.int().nonnegative().describe('The number of issues that this request made due.'),
    has_more: z.boolean().describe('Whether more issues match the filter: repeat the request.'),
  })
  .meta({ id: 'RetriedSyncs' });
export type RetriedSyncs = z.infer<typeof retriedSyncsSchema>;

/** PUT /api/v1/issues/{id}/external/ */
export const attachExternalSchema = z
  .object({
    id: z
      .union([z.string(), z.int().positive().transform(String)])
      .refine((id) => /^[1-9]\d{0,17}$/.test(id), { error: "must be the issue's number in the tracker" }),
  })
  .meta({ id: 'AttachExternal' });
export type AttachExternal = z.output<typeof attachExternalSchema>;
