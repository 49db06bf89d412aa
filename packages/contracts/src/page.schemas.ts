import { z } from 'zod';
import { cursor, limit } from './query-value.schemas.ts';

export { pageSizeDefault, pageSizeMax } from './query-value.schemas.ts';

/** The query of a list without filters and orderings. */
export const pageQuerySchema = z.strictObject({ limit: limit.optional(), cursor: cursor.optional() });
export type PageQuery = z.output<typeof pageQuerySchema>;

/** The query of a list by time. */
export const timelineQuerySchema = pageQuerySchema.extend({
  order: z.enum(['oldest', 'newest'], { error: 'must be oldest or newest' }).optional().meta({
    description:
      'Which items are first: the oldest (default), or the newest, for a timeline that starts at its end.',
  }),
});
export type TimelineOrder = NonNullable<z.output<typeof timelineQuerySchema>['order']>;
