import { z } from 'zod';
import { uuid } from '../text.ts';
import { issuePrioritySchema, issueStatusSchema } from './issue-input.ts';
import { linkSchema } from './issue-link.ts';
import { externalIssueSchema, syncStateSchema } from './tracker-sync.ts';

/** The newest comments that an issue is answered with; the others are read through its comments. */
export const embeddedCommentsMax = 200;

const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');

/** Somebody as shown beside their work. Never an e-mail address. */
export const personSchema = z
  .object({ id: uuid(), username: z.string().nullable().describe('Null while it is not known here.') })
  .meta({ id: 'Person' });
export type Person = z.infer<typeof personSchema>;

export const commentSchema = z
  .object({
    id: uuid(),
    issue_id: uuid(),
    body: z.string(),
    author: personSchema.nullable().describe('Null for somebody outside.'),
    origin: z.string().describe('`local`, or the tracker that it came from.'),
    external: z
      .object({ author: z.string().nullable(), created_at: timestamp.nullable() })
      .nullable()
      .describe('Who wrote it in the tracker that it came from, and when; null for a comment from here.'),
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'Comment' });
export type Comment = z.infer<typeof commentSchema>;

/** An issue in a list. */
export const issueSummarySchema = z
  .object({
    id: uuid(),
    number: z.int().positive(),
    key: z.string().meta({ example: 'ISS-42' }),
    title: z.string(),
    description: z.string(),
    priority: issuePrioritySchema,
    status: issueStatusSchema,
    allowed_transitions: z.array(issueStatusSchema),
    reporter: personSchema,
    assignee: personSchema.nullable(),
    links: z.array(linkSchema),
    external: externalIssueSchema.nullable(),
    sync: syncStateSchema,
    comments_count: z.int().nonnegative(),
    version: z.int().positive().describe('Grows with title, description, priority and assignee.'),
    created_at: timestamp,
    updated_at: timestamp,
    resolved_at: timestamp.nullable(),
    closed_at: timestamp.nullable(),
  })
  .meta({ id: 'IssueSummary' });
export type IssueSummary = z.infer<typeof issueSummarySchema>;

/** An issue by itself: the newest comments are in it, oldest first. */
export const issueSchema = issueSummarySchema
  .extend({ comments: z.array(commentSchema).max(embeddedCommentsMax) })
  .meta({ id: 'Issue' });
export type Issue = z.infer<typeof issueSchema>;

/** One line of an issue's history. `old` and `new` are the whole values before and after. */
export const activitySchema = z
  .object({
    id: z.int().positive(),
    issue_id: uuid(),
    kind: z.string().meta({
      description:
        '`created`, `updated` (with `field`), `status_changed`, `comment_added`, `link_added`, `link_changed`, `link_removed`, or `sync_conflict` (with `field`): `old` is the value that was not kept.',
    }),
    field: z.string().nullable(),
    old: z.unknown(),
    new: z.unknown(),
    actor: personSchema.nullable().describe('Null for a change that came from outside.'),
    origin: z.string().describe('`local`, or the tracker that it came from.'),
    at: timestamp,
    request_id: z.string().nullable(),
  })
  .meta({ id: 'Activity' });
export type Activity = z.infer<typeof activitySchema>;
