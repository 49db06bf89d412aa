import { z } from 'zod';
import { cursor, limit, once, oneOrMore, pageSizeMax, wholeNumber } from '../query-value.schemas.ts';
import { issueFilters, refuseContradictions } from './issue-filter.schemas.ts';
import {
  issuePriorities,
  issuePrioritySchema,
  issueStatuses,
  issueStatusSchema,
} from './issue-input.schemas.ts';
import { issueFieldSchema, listedIssueSchema, personSchema } from './issue-response.schemas.ts';

export const orderingFields = [
  'created_at',
  'updated_at',
  'priority',
  'status',
  'due_on',
  'number',
  'title',
] as const;
export type OrderingField = (typeof orderingFields)[number];

/** One key of an ordering. */
export interface OrderingKey {
  field: OrderingField;
  descending: boolean;
}

const orderingFieldSchema = z.enum(orderingFields);

const ordering = once
  .transform((text, context): OrderingKey[] => {
    const keys = text.split(',', orderingFields.length + 1).map((key) => ({
      field: orderingFieldSchema.safeParse(key.replace(/^-/, '')),
      descending: key.startsWith('-'),
    }));
    const named = keys.flatMap(({ field, descending }) =>
      field.success ? [{ field: field.data, descending }] : [],
    );
    if (named.length === keys.length && new Set(named.map(({ field }) => field)).size === keys.length)
      return named;
    context.addIssue({
      code: 'custom',
      message: `must be a list of ${orderingFields.join(', ')}, each once, "-" before it for descending`,
    });
    return z.NEVER;
  })
  .meta({
    override: {
      type: 'array',
      items: { type: 'string', enum: orderingFields.flatMap((field) => [field, `-${field}`]) },
      uniqueItems: true,
    },
  });

const listMembers = {
  ...issueFilters,
  ordering: ordering.optional().meta({
    description:
      'Separated by commas; "-" for descending; default -created_at. Issues without a due date are the last by `due_on`, and the first by `-due_on`.',
    param: { style: 'form', explode: false },
  }),
};

/** The filters and the order of a list, without its pages. */
export const listQuerySchema = z.strictObject(listMembers).superRefine(refuseContradictions);

const { options: issueFields } = issueFieldSchema;
const fields = oneOrMore(issueFieldSchema, issueFields, issueFields.length)
  .optional()
  .describe(
    'The members of each issue in the response; by default all except `is_blocked`. Other members are not read.',
  );

/** GET /api/v1/issues/. Unknown parameters are refused. */
export const issueListQuerySchema = z
  .strictObject({
    limit: limit.optional(),
    cursor: cursor.optional(),
    fields,
    ...listMembers,
  })
  .superRefine(refuseContradictions);
export type IssueListQuery = z.output<typeof issueListQuerySchema>;

/** GET /api/v1/issue-pages/. Unknown parameters are refused. */
export const issuePageQuerySchema = z
  .strictObject({
    page: wholeNumber(1_000_000_000)
      .optional()
      .describe('From 1; default 1. Beyond 10,000 issues, follow `next`.'),
    page_size: wholeNumber(pageSizeMax).optional().describe('Default 50.'),
    cursor: cursor.optional(),
    fields,
    ...listMembers,
  })
  .superRefine(refuseContradictions);
export type IssuePageQuery = z.output<typeof issuePageQuerySchema>;

export const countedFields = ['status', 'priority', 'assignee'] as const;
export type CountedField = (typeof countedFields)[number];

/** GET /api/v1/issues/counts/. Unknown parameters are refused. */
export const issueCountsQuerySchema = z
  .strictObject({
    by: z
      .enum(countedFields, { error: `must be one of ${countedFields.join(', ')}` })
      .meta({ description: 'The member by which the issues are counted.', param: { example: 'status' } }),
    ...issueFilters,
  })
  .superRefine(refuseContradictions);
export type IssueFilterQuery = Omit<z.output<typeof issueCountsQuerySchema>, 'by'>;

/** Maximum count of a value, and maximum number of assignees with a count. */
export const countMax = 10_000;
export const countedAssigneesMax = 100;

const countMembers = {
  count: z.int().nonnegative().max(countMax),
  is_capped: z.boolean().describe('Whether there are more than 10,000.'),
};
const isComplete = z
  .boolean()
  .describe(
    'False if further assignees have issues, or if only a part of the matching issues was counted, because that of all takes long.',
  );

/** The numbers of issues by a member. */
export const issueCountsSchema = z
  .discriminatedUnion('by', [
    z.object({
      by: z.literal('status'),
      counts: z.array(z.object({ value: issueStatusSchema, ...countMembers })).max(issueStatuses.length),
      is_complete: isComplete,
    }),
    z.object({
      by: z.literal('priority'),
      counts: z.array(z.object({ value: issuePrioritySchema, ...countMembers })).max(issuePriorities.length),
      is_complete: isComplete,
    }),
    z.object({
      by: z.literal('assignee'),
      counts: z
        .array(z.object({ value: personSchema.nullable(), ...countMembers }))
        .max(countedAssigneesMax)
        .describe('The assignees with the most issues; null stands for unassigned issues.'),
      is_complete: isComplete,
    }),
  ])
  .meta({ id: 'IssueCounts' });
export type IssueCounts = z.infer<typeof issueCountsSchema>;

/** A page of a list with the number of all issues. */
export const issuePageSchema = z
  .object({
    count: z.int().nonnegative().describe('The number of matching issues.'),
    is_complete: z
      .boolean()
      .describe('False if only a part of the matching issues was counted, because that of all takes long.'),
    next: z.url().nullable(),
    previous: z.url().nullable(),
    results: z.array(listedIssueSchema),
  })
  .meta({ id: 'IssuePage' });
export type IssuePage = z.infer<typeof issuePageSchema>;
