import { z } from 'zod';
import { lookupEmailSchema } from '../identity/email.schemas.ts';
import { atMost, isInOrder, isVisible, oneLine, text, uuid } from '../text.schemas.ts';
import { linkInputSchema, linksMax } from './issue-link.schemas.ts';
import { labelsInput } from './label.schemas.ts';
import { projectKeyInput } from './project.schemas.ts';

/** docs/spec/issue-tracking.md 2.1 */
export const issueStatuses = ['OPEN', 'IN_PROGRESS', 'RESOLVED', 'CLOSED', 'REOPENED'] as const;
export const issueStatusSchema = z.enum(issueStatuses).meta({ id: 'IssueStatus' });
export type IssueStatus = z.infer<typeof issueStatusSchema>;

/** The priorities in ascending order. */
export const issuePriorities = ['LOW', 'MEDIUM', 'HIGH', 'URGENT', 'CRITICAL'] as const;
export const issuePrioritySchema = z.enum(issuePriorities).meta({ id: 'IssuePriority' });
export type IssuePriority = z.infer<typeof issuePrioritySchema>;

export const titleMaxLength = 255;
export const descriptionMaxLength = 65_000;
export const commentMaxLength = 65_000;

/** A priority in a request, in upper or lower case. `NORMAL` is an alias of `MEDIUM`. */
export const priorityInputSchema = z
  .preprocess((value) => {
    if (typeof value !== 'string') return value;
    const name = value.trim().toUpperCase();
    return name === 'NORMAL' ? 'MEDIUM' : name;
  }, issuePrioritySchema)
  .meta({ description: 'Case-insensitive; `NORMAL` means `MEDIUM`.' });

const titleInput = oneLine(titleMaxLength).check(isVisible(), isInOrder());

const descriptionInput = text()
  .check(isInOrder(), atMost(descriptionMaxLength))
  .meta({
    maxLength: descriptionMaxLength,
    description:
      'Plain text or Markdown, stored unchanged. `@username` outside code mentions a person, who then watches the issue.',
  })
  .nullable()
  .transform((value) => value ?? '');

const commentText = text()
  .refine((value) => value.trim() !== '', { error: 'must not be empty', abort: true })
  .check(isVisible(), isInOrder())
  .check(atMost(commentMaxLength))
  .meta({ minLength: 1, maxLength: commentMaxLength });

/** A calendar day without a time. PostgreSQL has no year 0. */
export const daySchema = z.iso
  .date({ error: 'must be a day such as 2026-12-31', abort: true })
  .refine((day) => day >= '1970-01-01', { error: 'must be in 1970 or later' });

const dueInput = daySchema.nullable().describe('The day on which it is due; null for none.');

const assigneeInput = {
  assignee_id: uuid().nullable().optional().describe('Null unassigns.'),
  assignee_email: lookupEmailSchema.optional().describe('Instead of assignee_id.'),
};
const oneAssignee = { error: 'must not be given together with assignee_id', path: ['assignee_email'] };

function namesOneAssignee(body: { assignee_id?: unknown; assignee_email?: unknown }): boolean {
  return body.assignee_id === undefined || body.assignee_email === undefined;
}

const linksInput = z.preprocess(
  // The schema would otherwise parse all items before it counts them.
  (value) => (Array.isArray(value) ? value.slice(0, linksMax + 1) : value),
  z.array(linkInputSchema).max(linksMax, { error: `must be at most ${linksMax} links` }),
);

/** The version on which a change is based. Any other current version causes a 409. */
const versionInput = z.int().min(1).nullish();

/** POST /api/v1/issues/ */
export const createIssueSchema = z
  .object({
    title: titleInput,
    description: descriptionInput.default(''),
    priority: priorityInputSchema.default('MEDIUM'),
    ...assigneeInput,
    due_on: dueInput.default(null),
    links: linksInput.default([]),
    labels: labelsInput.default([]),
    project: projectKeyInput.optional().describe('The key of its project; by default the default project.'),
    status: issueStatusSchema.optional().describe('Only `OPEN`: the status has its own endpoint.'),
  })
  .refine(namesOneAssignee, oneAssignee)
  .meta({ id: 'CreateIssue' });
export type CreateIssue = z.output<typeof createIssueSchema>;

const writableMembers = [
  'title',
  'description',
  'priority',
  'assignee_id',
  'assignee_email',
  'due_on',
  'links',
  'labels',
] as const;

/** PUT and PATCH /api/v1/issues/{id}/: only given members change; `links` and `labels` replace the whole list. */
export const updateIssueSchema = z
  .object({
    title: titleInput.optional(),
    description: descriptionInput.optional(),
    priority: priorityInputSchema.optional(),
    ...assigneeInput,
    due_on: dueInput.optional(),
    links: linksInput.optional(),
    labels: labelsInput.optional(),
    status: issueStatusSchema.optional().describe('Only the current status.'),
    version: versionInput,
  })
  .refine(namesOneAssignee, oneAssignee)
  .refine((body) => body.status !== undefined || writableMembers.some((name) => body[name] !== undefined), {
    error: `must hold at least one of ${writableMembers.join(', ')}`,
  })
  .meta({ id: 'UpdateIssue' });
export type UpdateIssue = z.output<typeof updateIssueSchema>;

/** POST /api/v1/issues/{id}/status/ */
export const changeStatusSchema = z
  .object({
    status: issueStatusSchema,
    comment: commentText.nullish().describe('Added together with the change.'),
    version: versionInput,
  })
  .meta({ id: 'ChangeStatus' });
export type ChangeStatus = z.output<typeof changeStatusSchema>;

const commentMembers = ['body', 'comment', 'text', 'content'] as const;

/** POST /api/v1/issues/{id}/comments/. The document says only "Body with the comment", so several names are accepted. */
export const createCommentSchema = z
  .object({
    body: commentText.nullish(),
    comment: commentText.nullish().describe('Same as `body`.'),
    text: commentText.nullish().describe('Same as `body`.'),
    content: commentText.nullish().describe('Same as `body`.'),
  })
  .transform((given, context) => {
    const [first, second] = commentMembers.filter(
      (name) => given[name] !== undefined && given[name] !== null,
    );
    const body = first === undefined ? undefined : given[first];
    if (body !== undefined && body !== null && second === undefined) return { body };
    context.addIssue({
      code: 'custom',
      path: [second ?? 'body'],
      message: second === undefined ? 'is required' : `must not be given together with ${first}`,
    });
    return z.NEVER;
  })
  .meta({
    id: 'CreateComment',
    // The other names are accepted, but not documented.
    override: {
      properties: { body: { type: 'string', minLength: 1, maxLength: commentMaxLength } },
      required: ['body'],
    },
  });
export type CreateComment = z.output<typeof createCommentSchema>;

/** PATCH /api/v1/issues/{id}/comments/{comment_id}/ */
export const updateCommentSchema = z.object({ body: commentText }).meta({ id: 'UpdateComment' });
export type UpdateComment = z.output<typeof updateCommentSchema>;
