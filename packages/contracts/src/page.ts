import { z } from 'zod';
import { cursor, limit } from './query-value.ts';

export { pageSizeDefault, pageSizeMax } from './query-value.ts';

/** What a list takes that has one order and no filters. */
export const pageQuerySchema = z.strictObject({ limit: limit.optional(), cursor: cursor.optional() });
export type PageQuery = z.output<typeof pageQuerySchema>;
