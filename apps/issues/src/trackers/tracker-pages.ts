import type { z } from 'zod';
import { TrackerError } from './tracker-error.ts';
import { parseAnswer, type TrackerRequest, type TrackerTransport } from './tracker-transport.ts';

/** More than any tracker lets an issue have comments, or a bot create while one attempt is uncertain. */
const pagesMax = 100;

/** Every page of a list, by page numbers, as long as the tracker's `Link` names a next one (RFC 8288). */
export async function readPages<Schema extends z.ZodType>(
  transport: TrackerTransport,
  request: TrackerRequest,
  schema: Schema,
): Promise<z.output<Schema>[]> {
  const pages: z.output<Schema>[] = [];
  for (let page = 1; page <= pagesMax; page += 1) {
    const { data, headers } = await transport.send({ ...request, query: { ...request.query, page } });
    pages.push(parseAnswer(data, schema));
    if (!/rel="?next"?/.test(String(headers.link ?? ''))) return pages;
  }
  throw new TrackerError('unavailable', 'a list without an end');
}
