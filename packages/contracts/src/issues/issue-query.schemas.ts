import { z } from 'zod';
import {
  cursor,
  documentedAs,
  flag,
  givenOnceOr,
  instant,
  limit,
  once,
  oneOrMore,
  pageSizeMax,
  valuesOf,
  wholeNumber,
} from '../query-value.schemas.ts';
import { singleLineText, uuid } from '../text.schemas.ts';
import {
  daySchema,
  issuePriorities,
  issuePrioritySchema,
  issueStatuses,
  issueStatusSchema,
  priorityInputSchema,
} from './issue-input.schemas.ts';
import { linkRefMaxLength, linkTypeSchema, linkTypes } from './issue-link.schemas.ts';
import { issueFieldSchema, listedIssueSchema, personSchema } from './issue-response.schemas.ts';
import { labelFilter } from './label.schemas.ts';
import { projectFilter } from './project.schemas.ts';
import { syncFilterSchema } from './tracker-sync.schemas.ts';

export const searchMaxLength = 200;
/** Maximum number of days from today until the last day of a filter. */
export const dueDaysMax = 366;
/** PostgreSQL compares up to 256 places of each word of a phrase in each issue that has all its words. */
export const phraseWordsMax = 16;

// Every second part is within quotes.
function hasFewPhraseWords(search: string): boolean {
  const phrases = search.split('"').filter((_, place) => place % 2 === 1);
  return (phrases.join(' ').match(/[\p{L}\p{N}\p{M}]+/gu) ?? []).length <= phraseWordsMax;
}

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

const linkFilter = once.transform((text, context) => {
  const separator = text.indexOf(':');
  const type = linkTypeSchema.safeParse(text.slice(0, separator));
  const ref = singleLineText()
    .min(1)
    .max(linkRefMaxLength)
    .safeParse(text.slice(separator + 1));
  if (separator > 0 && type.success && ref.success) return { type: type.data, ref: ref.data };
  context.addIssue({
    code: 'custom',
    message: `must be <type>:<ref>, the type one of ${linkTypes.join(', ')}`,
  });
  return z.NEVER;
});

const externalFilter = singleLineText()
  .max(linkRefMaxLength)
  .regex(/^[a-z0-9_-]+:.+$/, { error: 'must be <provider>:<id>' });

const orderingFieldSchema = z.enum(orderingFields);

const day = documentedAs(once.pipe(daySchema), { type: 'string', format: 'date' });

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

export const issueIdsMax = 100;

const idFilter = valuesOf(issueIdsMax, 'issues').describe(
  `At most ${issueIdsMax} ids, keys or numbers, separated by commas, to read again the issues of a screen. Unknown ones match no issue.`,
);

// A single value is also valid as text.
const oneOrSeveral = {
  ...{ type: undefined, items: undefined, maxItems: undefined },
  anyOf: [
    { type: 'string' as const },
    { type: 'array' as const, items: { type: 'string' as const }, maxItems: 20 },
  ],
};

const assigneeSchema = z.union([z.literal(['me', 'none']), uuid()]);

/** A filter by one or more people. */
const people = <Value>(person: z.ZodType<Value>, values: readonly string[], description: string) =>
  oneOrMore(person, values).optional().meta({ description, override: oneOrSeveral });

const filterMembers = {
  id: idFilter.optional(),
  status: oneOrMore(issueStatusSchema, issueStatuses).optional(),
  '-status': oneOrMore(issueStatusSchema, issueStatuses)
    .optional()
    .describe('Excludes issues with these statuses.'),
  priority: oneOrMore(priorityInputSchema, issuePriorities).optional(),
  '-priority': oneOrMore(priorityInputSchema, issuePriorities)
    .optional()
    .describe('Excludes issues with these priorities.'),
  assignee: people(
    assigneeSchema,
    ['me', 'none', 'a UUID'],
    'Issues of any of these people: ids, `me`, or `none` for unassigned issues.',
  ),
  '-assignee': people(
    assigneeSchema,
    ['me', 'none', 'a UUID'],
    'Excludes issues of these people, or with `none` unassigned issues.',
  ),
  reporter: z.union([z.literal('me'), uuid()], { error: givenOnceOr('must be me or a UUID') }).optional(),
  '-reporter': people(
    z.union([z.literal('me'), uuid()]),
    ['me', 'a UUID'],
    'Excludes issues that these people have reported.',
  ),
  watcher: z
    .literal('me', { error: givenOnceOr('must be me') })
    .optional()
    .describe('The issues that the caller watches. What other people watch is not shown.'),
  link: linkFilter.optional().describe('`<type>:<ref>`, such as `invoice:2024-17`.'),
  external: externalFilter.optional().describe('`<provider>:<id>`, such as `redmine:17`.'),
  label: labelFilter
    .optional()
    .describe('A name, case-insensitive. A repeated parameter matches issues with all of these labels.'),
  '-label': labelFilter
    .optional()
    .describe(
      'Excludes issues with this label. A repeated parameter excludes those with any of these labels.',
    ),
  project: projectFilter
    .optional()
    .describe(
      'Keys of projects, present or former, of which issues may have any; with `-` before it, one to exclude.',
    ),
  sync: syncFilterSchema
    .optional()
    .describe(
      '`failed`: the last sync failed and has no retry scheduled; `conflict`: there are conflicts; `stale`: a sync is scheduled, for a retry or a change, and has not succeeded yet.',
    ),
  is_open: flag.optional().describe('Whether the issue is neither resolved nor closed.'),
  due_after: day.optional().describe('Due on or after this day.'),
  due_before: day.optional().describe('Due before this day.'),
  due_within: wholeNumber(dueDaysMax, 0)
    .optional()
    .describe('Due at most this many days after today, in UTC, or before: `0` for today.'),
  is_overdue: flag.optional().describe('Whether the issue is open and was due before today, in UTC.'),
  created_after: instant.optional().describe('At or after this time.'),
  created_before: instant.optional().describe('Before this time.'),
  updated_after: instant.optional().describe('At or after this time.'),
  updated_before: instant.optional().describe('Before this time.'),
  search: singleLineText()
    .trim()
    .max(searchMaxLength, { error: `must be at most ${searchMaxLength} characters` })
    .refine(hasFewPhraseWords, { error: `must have at most ${phraseWordsMax} words in phrases` })
    .optional()
    .describe(
      'Words, "phrases" with at most 16 words together, -excluded, or; for a key or a number, that issue is first. What is neither letter, mark nor number separates words; case and accents are ignored. In scripts without blanks, such as Chinese and Thai, any characters that stand together are found. The last word may be the beginning of a word, from three characters, or two of Hangul. Finds issues with the words in the title and the first 20,000 characters of the description, or, without excluded words, in the first 4,000 characters of a comment.',
    ),
};

/** Refuses a value that a query both asks for and excludes, such as `status=OPEN&-status=OPEN`. */
function refuseContradictions(query: Record<string, unknown>, context: z.RefinementCtx): void {
  for (const name of ['status', 'priority', 'assignee', 'reporter', 'label']) {
    const [asked, excluded] = [query[name], query[`-${name}`]].map((given) =>
      [given ?? []].flat().map((value) => String(value).toLowerCase()),
    );
    if (excluded?.some((value) => asked?.includes(value)))
      context.addIssue({ code: 'custom', path: [`-${name}`], message: `must exclude no value of ${name}` });
  }
  const projects = [query.project ?? []].flat().map(String);
  if (projects.some((key) => projects.includes(`-${key}`)))
    context.addIssue({ code: 'custom', path: ['project'], message: 'must exclude no value of project' });
}

const listMembers = {
  ...filterMembers,
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
    ...filterMembers,
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
