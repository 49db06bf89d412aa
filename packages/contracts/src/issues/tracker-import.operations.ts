import { z } from 'zod';
import { ignoredFieldsHeader, operation } from '../operation.ts';
import { flag, once } from '../query-value.schemas.ts';
import { uuid } from '../text.schemas.ts';
import { issuePrioritySchema, issueStatusSchema } from './issue-input.schemas.ts';
import { issueOperation } from './operation-parts.schemas.ts';
import {
  attemptMembers,
  notConfigured,
  rejectedCodes,
  rejectedDescription,
  remoteCodes,
  trackerProblems,
} from './tracker-problem.schemas.ts';
import { externalIssueSchema, syncRetriesMax } from './tracker-sync.schemas.ts';

const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');
const dryRun = flag.optional();

/** A position in the tracker's list of issues. */
const importCursor = once
  .regex(/^\d{1,14}-\d{1,7}$/, { error: 'must be the `next` of another dry run' })
  .transform((value) => {
    const [since, page] = value.split('-').map(Number);
    return { since: new Date(since ?? 0), page: Math.max(1, page ?? 1) };
  })
  .optional();

/** POST /api/v1/sync/import/ */
export const importQuerySchema = z.object({
  dry_run: dryRun.describe('Whether to list what an import would do, without writing.'),
  cursor: importCursor.describe('From the `next` of another dry run; opaque.'),
});

export const importStates = ['none', 'running', 'retrying', 'finished'] as const;

/** The last import of the issues of the tracker. */
export const importSchema = z
  .object({
    state: z.enum(importStates).meta({
      description:
        '`none`: nothing was imported yet; `running`; `retrying`: `last_error` says why it waits until `next_attempt_at`; `finished`.',
    }),
    requested_by: uuid().nullable(),
    started_at: timestamp.nullable(),
    finished_at: timestamp.nullable(),
    imported: z.int().nonnegative().describe('The number of new issues.'),
    linked: z.int().nonnegative().describe('The number of remote issues that already had a local issue.'),
    skipped: z
      .int()
      .nonnegative()
      .describe('The number of remote issues that are private, or that a sync created here.'),
    unassigned: z
      .int()
      .nonnegative()
      .describe(
        'The number of new issues without an assignee because no active user is known for the one there.',
      ),
    read_until: timestamp
      .nullable()
      .describe('The list was read up to issues with this time of their last update.'),
    last_error: z.string().nullable().describe('The `code` of the last failure.'),
    detail: z.string().nullable().describe('Advice on the error.'),
    next_attempt_at: timestamp.nullable(),
  })
  .meta({ id: 'Import' });
export type Import = z.infer<typeof importSchema>;

/** The effects that an import of one page would have. */
export const importPreviewSchema = z
  .object({
    issues: z.array(
      z.object({
        external: externalIssueSchema.pick({ provider: true, id: true, key: true, url: true }),
        action: z.enum(['import', 'skip']),
        reason: z.enum(['linked', 'private', 'created_here']).nullable().meta({
          description:
            'Why it is skipped. `linked`: it belongs to an issue already; `private`: not every user may see it; `created_here`: it has the marker of an issue of this service, and no other user of the tracker has copied it.',
        }),
        title: z.string().nullable().describe('Null for a private issue.'),
        status: issueStatusSchema.nullable(),
        priority: issuePrioritySchema.nullable(),
        assignee_id: uuid().nullable(),
        external_assignee: z.string().nullable().describe("The tracker's name of the assignee."),
      }),
    ),
    next: z.string().nullable().describe('The `cursor` of the next page.'),
  })
  .meta({ id: 'ImportPreview' });
export type ImportPreview = z.infer<typeof importPreviewSchema>;

/** POST /api/v1/sync/backfill/ */
export const backfillQuerySchema = z.object({
  dry_run: dryRun.describe('Whether to list the issues only.'),
});

export const backfillSchema = z
  .object({ limit: z.int().min(1).max(syncRetriesMax).default(syncRetriesMax) })
  .meta({ id: 'Backfill' });

export const backfilledSchema = z
  .object({
    issues: z.array(z.string()).describe('The keys of the issues that were made due, or would be.'),
    has_more: z.boolean().describe('Whether more issues were never synced: repeat the request.'),
  })
  .meta({ id: 'Backfilled' });
export type Backfilled = z.infer<typeof backfilledSchema>;

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
  responses: { 200: { description: 'The issues.', schema: backfilledSchema, headers: ignoredFieldsHeader } },
  problems: [401, 403, notConfigured, 422],
});
