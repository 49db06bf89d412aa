import { z } from 'zod';
import { cursor, limit } from './query-value.ts';

export { pageSizeDefault, pageSizeMax } from './query-value.ts';

/** The query of a list without filters and orderings. */
export const pageQuerySchema = z.strictObject({ limit: limit.optional(), cursor: cursor.optional() });
export type PageQuery = z.output<typeof pageQuerySchema>;
