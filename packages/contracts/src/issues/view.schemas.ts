import { z } from 'zod';
import { isVisibleName, oneLine, trimName, uuid } from '../text.schemas.ts';
import { listQuerySchema } from './issue-query.schemas.ts';
import { personSchema } from './issue-response.schemas.ts';

export const viewNameMaxLength = 100;
export const viewQueryMaxLength = 2000;
/** Maximum numbers of views of a person, of those that the person shares, and of other people's views in a list. */
export const viewsMax = 100;
export const sharedViewsMax = 20;
export const listedSharedViewsMax = 100;

const viewName = oneLine(viewNameMaxLength, trimName).check(isVisibleName());
const viewLayout = z
  .enum(['list', 'board'], { error: 'must be list or board' })
  .describe('How the app shows the issues.');

/** The parameters of a list, as in its URL. They are stored in one spelling, in ASCII. */
const viewQuery = z
  .string()
  .max(viewQueryMaxLength, { error: `must be at most ${viewQueryMaxLength} characters` })
  .refine((text) => text.isWellFormed(), { error: 'must not contain unpaired surrogates', abort: true })
  .transform((text, context) => {
    const parameters = new URLSearchParams(text);
    const given = Object.fromEntries(
      [...new Set(parameters.keys())].map((name) => {
        const [first, ...others] = parameters.getAll(name);
        return [name, others.length === 0 ? first : [first, ...others]];
      }),
    );
    const { error } = listQuerySchema.safeParse(given);
    const [problem] = error?.issues ?? [];
    const query = parameters.toString();
    if (problem === undefined && query.length <= viewQueryMaxLength) return query;
    const name = problem?.code === 'unrecognized_keys' ? problem.keys[0] : problem?.path[0];
    const message =
      problem === undefined
        ? `must be at most ${viewQueryMaxLength} characters with escapes`
        : problem.code === 'unrecognized_keys'
          ? `has an unknown parameter: ${String(name).slice(0, 50)}`
          : `${String(name)} ${problem.message}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  })
  .describe(
    'Filters and order of a list of issues as in its URL, such as `status=OPEN&-label=bug&ordering=-priority`. `me` is each reader.',
  );

const timestamp = z.iso.datetime().describe('RFC 3339, UTC, with milliseconds.');

export const viewSchema = z
  .object({
    id: uuid(),
    name: z.string(),
    query: z
      .string()
      .describe('Filters and order of a list of issues as in its URL.')
      .meta({ example: 'status=OPEN&label=billing' }),
    layout: viewLayout,
    is_shared: z.boolean(),
    owner: personSchema,
    created_at: timestamp,
    updated_at: timestamp,
  })
  .meta({ id: 'View' });
export type View = z.infer<typeof viewSchema>;

/** POST /api/v1/views/ */
export const createViewSchema = z
  .object({
    name: viewName,
    query: viewQuery,
    layout: viewLayout.default('list'),
    is_shared: z.boolean().default(false),
  })
  .meta({ id: 'CreateView' });
export type CreateView = z.output<typeof createViewSchema>;

/** PATCH /api/v1/views/{id}/ */
export const updateViewSchema = z
  .object({
    name: viewName.optional(),
    query: viewQuery.optional(),
    layout: viewLayout.optional(),
    is_shared: z.boolean().optional(),
  })
  .refine((change) => Object.values(change).some((value) => value !== undefined), {
    error: 'must hold at least one of name, query, layout, is_shared',
  })
  .meta({ id: 'UpdateView' });
export type UpdateView = z.output<typeof updateViewSchema>;
