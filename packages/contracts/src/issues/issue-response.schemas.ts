import { z } from 'zod';
import { uuid } from '../text.schemas.ts';
import { attachedFileSchema, attachmentsPerTextMax } from './attachment.schemas.ts';
import { issuePrioritySchema, issueStatusSchema } from './issue-input.schemas.ts';
import { linkSchema, linksMax } from './issue-link.schemas.ts';
import { issueLabelSchema, issueLabelsMax } from './label.schemas.ts';
import { issueProjectSchema } from './project.schemas.ts';
import { externalIssueSchema, syncStateSchema, syncSummarySchema } from './tracker-sync.schemas.ts';

/** Maximum number and size (in bytes of JSON) of the newest comments in an issue. The list of comments contains all. */
export const embeddedCommentsMax = 50;
export const embeddedCommentsBytesMax = 256 * 1024;
/** Limits of the beginning of a description and of the oldest links in a listed issue. */
export const listedDescriptionMaxLength = 2_000;
export const listedLinksMax = 10;

const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');

/** A user as an author or assignee, without e-mail address. */
export const personSchema = z
  .object({
    id: uuid(),
    username: z.string().nullable().describe('Null while unknown.'),
    name: z.string().optional().describe('Absent without one.'),
  })
  .meta({ id: 'Person' });
export type Person = z.infer<typeof personSchema>;

/** Maximum number of people that a text mentions. */
export const mentionsMax = 20;

const mentionsSchema = z
  .array(personSchema)
  .max(mentionsMax)
  .describe('The people that the text mentions with `@username`, as found when it was written.');

export const commentSchema = z
  .object({
    id: uuid(),
    issue_id: uuid(),
    body: z.string(),
    author: personSchema.nullable().describe('Null for an author of the external tracker.'),
    origin: z.string().describe('`local`, or the external tracker.'),
    external: z
      .object({ author: z.string().nullable(), created_at: timestamp.nullable() })
      .nullable()
      .describe('Author and time in the external tracker; null for a local comment.'),
    mentions: mentionsSchema,
    attachments: z
      .array(attachedFileSchema)
      .max(attachmentsPerTextMax)
      .optional()
      .describe('The files of the issue that the text names, in its order.'),
    attachments_count: z.int().nonnegative().optional().describe('The number of these files.'),
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
    key: z
      .string()
      .describe('The key of its project and its number. Former ones lead to it, too.')
      .meta({ example: 'ISS-42' }),
    project: issueProjectSchema,
    title: z.string(),
    description: z.string().describe('At most 2,000 characters.'),
    description_truncated: z
      .boolean()
      .describe('Whether the description is longer. Always false in the response of a single issue.'),
    priority: issuePrioritySchema,
    status: issueStatusSchema,
    allowed_transitions: z.array(issueStatusSchema),
    reporter: personSchema,
    assignee: personSchema.nullable(),
    due_on: z.iso.date().nullable().describe('The day on which it is due; null for none.'),
    links: z
      .array(linkSchema.omit({ metadata: true }))
      .max(listedLinksMax)
      .describe('The oldest links.'),
    links_count: z.int().nonnegative(),
    labels: z.array(issueLabelSchema).max(issueLabelsMax).describe('Sorted by name.'),
    external: externalIssueSchema.nullable(),
    sync: syncSummarySchema,
    comments_count: z.int().nonnegative(),
    version: z
      .int()
      .positive()
      .describe('Increases with changes of title, description, priority, assignee and due date.'),
    created_at: timestamp,
    updated_at: timestamp,
    resolved_at: timestamp.nullable(),
    closed_at: timestamp.nullable(),
  })
  .meta({ id: 'IssueSummary' });
export type IssueSummary = z.infer<typeof issueSummarySchema>;

/** An issue in a list with the members that only `fields` adds, because they depend on other issues. */
export const listableIssueSchema = issueSummarySchema.extend({
  is_blocked: z.boolean().describe('Whether an open issue that the reader sees blocks it.'),
});
export type ListableIssue = z.infer<typeof listableIssueSchema>;

/** A member of an issue in a list. */
export const issueFieldSchema = listableIssueSchema.keyof().meta({ id: 'IssueField' });
export type IssueField = z.infer<typeof issueFieldSchema>;

/** An issue in a list that was requested with `fields`. */
export const sparseIssueSchema = listableIssueSchema
  .partial()
  .meta({ id: 'SparseIssue', description: 'The members of an issue that `fields` names.' });
export type SparseIssue = z.infer<typeof sparseIssueSchema>;

/** An issue in a response of a list. */
export const listedIssueSchema = z.union([issueSummarySchema, sparseIssueSchema]);

/** An issue with its newest comments, oldest first. */
export const issueSchema = issueSummarySchema
  .extend({
    description: z.string(),
    links: z.array(linkSchema).max(linksMax),
    sync: syncStateSchema,
    mentions: mentionsSchema.describe(
      'The people that the description mentions with `@username`, as found when it was written.',
    ),
    attachments: z
      .array(attachedFileSchema)
      .max(attachmentsPerTextMax)
      .optional()
      .describe('The oldest files of the issue. The list of its files has all.'),
    attachments_count: z.int().nonnegative().optional().describe('The number of all files of the issue.'),
    comments: z
      .array(commentSchema)
      .max(embeddedCommentsMax)
      .describe('The newest comments, oldest first, with at most 256 KiB in total.'),
    comments_truncated: z.boolean().describe('Whether there are older comments.'),
    comments_url: z.url().describe('The list of all comments.'),
  })
  .meta({ id: 'Issue' });
export type Issue = z.infer<typeof issueSchema>;

/** A field in the description of an issue, in the format of Django REST framework. */
export interface FieldDescription {
  type: string;
  required?: boolean | undefined;
  read_only?: boolean | undefined;
  label?: string | undefined;
  max_length?: number | undefined;
  default?: string | undefined;
  choices?: { value: string; display_name: string }[] | undefined;
  /** The items of a list. */
  child?: FieldDescription | undefined;
  /** The members of an object. */
  children?: Record<string, FieldDescription> | undefined;
}

const fieldDescriptionSchema: z.ZodType<FieldDescription> = z
  .object({
    type: z.string().describe('Such as `string`, `choice`, `list` or `nested object`.'),
    required: z.boolean().optional(),
    read_only: z.boolean().optional(),
    label: z.string().optional(),
    max_length: z.int().positive().optional(),
    default: z.string().optional(),
    choices: z.array(z.object({ value: z.string(), display_name: z.string() })).optional(),
    get child() {
      return fieldDescriptionSchema.optional().describe('The items of a list.');
    },
    get children() {
      return z
        .record(z.string(), fieldDescriptionSchema)
        .optional()
        .describe('The members of an object, or of each item of a list.');
    },
  })
  .meta({ id: 'FieldDescription' });

/** The response to OPTIONS: the writable members of an issue. */
export const issueDescriptionSchema = z
  .object({
    name: z.string(),
    description: z.string(),
    renders: z.array(z.string()).describe('Media types of responses.'),
    parses: z.array(z.string()).describe('Media types of requests.'),
    actions: z.object({
      POST: z.record(z.string(), fieldDescriptionSchema).describe('The members of a new issue.'),
    }),
  })
  .meta({ id: 'IssueDescription' });
export type IssueDescription = z.infer<typeof issueDescriptionSchema>;

export const activityKindSchema = z
  .enum([
    'created',
    'updated',
    'status_changed',
    'comment_added',
    'comment_changed',
    'comment_removed',
    'link_added',
    'link_changed',
    'link_removed',
    'relation_added',
    'relation_removed',
    'label_added',
    'label_removed',
    'attachment_added',
    'attachment_removed',
    'sync_conflict',
  ])
  .meta({ id: 'ActivityKind' });
export type ActivityKind = z.infer<typeof activityKindSchema>;

/** An entry of an issue's history. `old` and `new` are the complete values before and after. */
export const activitySchema = z
  .object({
    id: z.int().positive(),
    issue_id: uuid(),
    kind: activityKindSchema.describe(
      '`updated` and `sync_conflict` have `field`. The `old` of a `sync_conflict` is the discarded value. The values of `comment_changed` and `comment_removed` have `comment_id` and `body`, those of `attachment_added` and `attachment_removed` `attachment_id`, `name` and `size`.',
    ),
    field: z.string().nullable(),
    old: z.unknown(),
    new: z.unknown(),
    actor: personSchema.nullable().describe('Null for a change by the external tracker.'),
    origin: z.string().describe('`local`, or the external tracker.'),
    at: timestamp,
    request_id: z.string().nullable(),
  })
  .meta({ id: 'Activity' });
export type Activity = z.infer<typeof activitySchema>;
