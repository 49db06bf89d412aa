import { z } from 'zod';
import { uuid } from './text.schemas.ts';

/** Maximum size of a page. */
export const pageSizeMax = 200;
export const pageSizeDefault = 50;

/** A query parameter that must not be repeated. */
export const once = z.string({ error: givenOnceOr('must be text') });

/** The message for a parameter that must not be repeated: `other` if it was given once. */
export function givenOnceOr(other: string) {
  return ({ input }: { input?: unknown }) => (Array.isArray(input) ? 'must be given once' : other);
}

/** Documents a parameter with the JSON type that its text represents, such as `integer`. */
export function documentedAs<Schema extends z.ZodType>(
  schema: Schema,
  type: Record<string, unknown>,
): Schema {
  return schema.meta({ override: { enum: undefined, pattern: undefined, ...type } });
}

/** A whole number up to a maximum. */
export function wholeNumber(max: number, min = 1) {
  const range = `must be a whole number from ${min} to ${max}`;
  const schema = once
    .regex(/^\d{1,10}$/, { error: range })
    .transform(Number)
    .refine((value) => value >= min && value <= max, { error: range });
  return documentedAs(schema, { type: 'integer', minimum: min, maximum: max });
}

/** `true` or `false`. */
export const flag = documentedAs(
  z
    .enum(['true', 'false'], { error: givenOnceOr('must be true or false') })
    .transform((value) => value === 'true'),
  { type: 'boolean' },
);

const valuesMax = 20;

/**
 * Values of an enumeration, as a repeated parameter or separated by commas: `status=OPEN&status=CLOSED` and
 * `status=OPEN,CLOSED` are equivalent.
 */
export function oneOrMore<Value>(item: z.ZodType<Value>, values: readonly string[], max = valuesMax) {
  return z.preprocess((given, context) => {
    const items = [given].flat().flatMap((text) => (typeof text === 'string' ? text.split(',') : [text]));
    const results = items.slice(0, max + 1).map((text) => item.safeParse(text));
    if (results.length <= max && results.every((result) => result.success)) {
      return [...new Set(results.map((result) => result.data))];
    }
    const message =
      results.length > max ? `must be at most ${max} values` : `must be one or more of ${values.join(', ')}`;
    context.addIssue({ code: 'custom', message });
    return z.NEVER;
  }, z.array(item).max(max));
}

/** Texts, as a repeated parameter or separated by commas. `name`: their name in an error. */
export function valuesOf(max: number, name: string) {
  return listOf(z.string().max(50), max, name);
}

/** Ids, as a repeated parameter or separated by commas. */
export function uuids(max: number) {
  return listOf(uuid(), max, 'ids');
}

function listOf<Item extends z.ZodType>(item: Item, max: number, name: string) {
  return z.preprocess(
    (given) =>
      [given].flat().flatMap((text) => (typeof text === 'string' ? text.split(',', max + 1) : [text])),
    z.array(item).max(max, { error: `must be at most ${max} ${name}` }),
  );
}

/** A point in time. A date means midnight UTC. */
export const instant = documentedAs(
  once
    // An unescaped "+" of an offset arrives as a space.
    .transform((text) => text.replace(/ (?=\d\d:\d\d$)/, '+'))
    .pipe(
      z.union([z.iso.datetime({ offset: true }), z.iso.date()], {
        error: 'must be a date or an ISO 8601 time with Z or an offset',
      }),
    )
    .transform((text) => new Date(text))
    .refine((date) => date.getUTCFullYear() >= 1900 && date.getUTCFullYear() <= 9999, {
      error: 'must be of the years 1900 to 9999',
    }),
  { type: 'string', format: 'date-time' },
);

export const cursor = once
  .max(2500, { error: 'must be at most 2500 characters' })
  .describe('From the `Link` or `next` of the same list; opaque.');
export const limit = wholeNumber(pageSizeMax).describe(
  `Maximum number of items, from 1 to ${pageSizeMax}. A page also ends before 512 KiB; \`Link\` refers to the next page.`,
);
