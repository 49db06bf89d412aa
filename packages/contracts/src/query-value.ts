import { z } from 'zod';

/** Maximum size of a page. */
export const pageSizeMax = 200;
export const pageSizeDefault = 50;

/** A query parameter that may be given once. */
export const once = z.string({
  error: ({ input }) => (Array.isArray(input) ? 'must be given once' : 'must be text'),
});

/** A whole number from 1 to a maximum. */
export function wholeNumber(max: number) {
  const range = `must be a whole number from 1 to ${max}`;
  return once
    .regex(/^\d{1,10}$/, { error: range })
    .transform(Number)
    .refine((value) => value >= 1 && value <= max, { error: range });
}

/** A point in time; a date means its midnight, UTC. */
export const instant = once
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
  });

export const cursor = once
  .max(2500, { error: 'must be at most 2500 characters' })
  .describe('From the `Link` or `next` of the same list; opaque.');
export const limit = wholeNumber(pageSizeMax).describe(
  `Maximum number of items, from 1 to ${pageSizeMax}. A page also ends before 512 KiB; \`Link\` leads to the rest.`,
);
