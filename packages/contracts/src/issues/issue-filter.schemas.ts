import { z } from 'zod';
import type { FieldError } from '../problem.schemas.ts';
import {
  documentedAs,
  flag,
  givenOnceOr,
  instant,
  once,
  oneOrMore,
  valuesOf,
  wholeNumber,
} from '../query-value.schemas.ts';
import { singleLineText, uuid } from '../text.schemas.ts';
import {
  daySchema,
  type IssuePriority,
  type IssueStatus,
  issuePriorities,
  issueStatuses,
  issueStatusSchema,
  priorityInputSchema,
} from './issue-input.schemas.ts';
import { type LinkType, linkRefMaxLength, linkTypeSchema, linkTypes } from './issue-link.schemas.ts';
import { labelFilter } from './label.schemas.ts';
import { projectFilter } from './project.schemas.ts';
import { type SyncFilter, syncFilterSchema } from './tracker-sync.schemas.ts';

/** An id, a key such as `ISS-42`, or a number. */
export type IssueReference = string | number;

type PersonFilter = 'me' | (string & {});
type AssigneeFilter = 'none' | PersonFilter;

/** The filters of a list, as clients send them. */
export interface IssueFilterInput {
  /** From 1 to 100 issues. An empty array is refused, whereas an empty array of another filter is ignored. */
  id?: readonly IssueReference[];
  status?: readonly IssueStatus[];
  /** A filter with "-" before its name excludes issues with any of the values. */
  '-status'?: readonly IssueStatus[];
  priority?: readonly IssuePriority[];
  '-priority'?: readonly IssuePriority[];
  /** Ids of users, or of a single user. */
  assignee?: AssigneeFilter | readonly AssigneeFilter[];
  '-assignee'?: AssigneeFilter | readonly AssigneeFilter[];
  reporter?: PersonFilter;
  '-reporter'?: PersonFilter | readonly PersonFilter[];
  /** The issues that the caller watches. */
  watcher?: 'me';
  /** `<type>:<ref>`, such as `invoice:2024-17`. */
  link?: `${LinkType}:${string}`;
  /** `<provider>:<id>`, such as `redmine:17`. */
  external?: `${string}:${string}`;
  /** Names of labels. Matches issues with all of these labels. */
  label?: readonly string[];
  '-label'?: readonly string[];
  /** Keys of projects, of which issues may have any; with a hyphen before it, one to exclude. */
  project?: readonly string[];
  sync?: SyncFilter;
  is_open?: boolean;
  /** On or after this day, such as 2026-12-31. */
  due_after?: string;
  /** Before this day. */
  due_before?: string;
  /** At most this many days after today, in UTC, or before. */
  due_within?: number;
  /** Whether the issue is open and was due before today, in UTC. */
  is_overdue?: boolean;
  created_after?: Date | string;
  created_before?: Date | string;
  updated_after?: Date | string;
  updated_before?: Date | string;
  /**
   * Search text with words, "phrases", -excluded words and `or`. The last word may be a beginning of three letters or more.
   * If it is a key or a number, the issue with that number is first.
   */
  search?: string;
}
export type FilterName = keyof IssueFilterInput;

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

const day = documentedAs(once.pipe(daySchema), { type: 'string', format: 'date' });

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

/** The filters of a list: their parameters of the query. */
export const issueFilters = {
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
} satisfies Record<FilterName, z.ZodType>;

const excludable = Object.keys(issueFilters).filter((name) => `-${name}` in issueFilters);

/** Finds values that a query both asks for and excludes, such as `status=OPEN&-status=OPEN`. */
export function findContradictions(query: Readonly<Record<string, unknown>>): FieldError[] {
  const given = (name: string) => [query[name] ?? []].flat().map((value) => String(value).toLowerCase());
  const projects = given('project');
  return [
    ...excludable
      .filter((name) => given(`-${name}`).some((value) => given(name).includes(value)))
      .map((name) => ({ field: `-${name}`, message: `must exclude no value of ${name}` })),
    ...(projects.some((key) => projects.includes(`-${key}`))
      ? [{ field: 'project', message: 'must exclude no value of project' }]
      : []),
  ];
}

/** Adds them to the problems of a schema. */
export function refuseContradictions(
  query: Readonly<Record<string, unknown>>,
  context: z.RefinementCtx,
): void {
  for (const { field, message } of findContradictions(query))
    context.addIssue({ code: 'custom', path: [field], message });
}
