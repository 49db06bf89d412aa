import { validationProblem } from '@tessera/service-kit';
import type { z } from 'zod';

/**
 * Reads the place in a list that a cursor names; undefined where none was given. A cursor is no secret and no right, so
 * it is not signed: what it holds is parsed like any other input. Throws a 422 problem.
 */
export function decodeCursor<Schema extends z.ZodType>(
  place: Schema,
  cursor: string | undefined,
): z.output<Schema> | undefined {
  if (cursor === undefined) return undefined;
  const result = place.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (!result.success) {
    throw validationProblem([{ field: 'cursor', message: 'is not one that this list has given' }]);
  }
  return result.data;
}

/**
 * The `Link` header (RFC 8288) to the page after a place, where there is one. Relative: trusted backends reach the
 * internal API at addresses of their own, none of which the service knows.
 */
export function nextLink(requestUrl: string, place: unknown): Record<string, string> {
  if (place === undefined) return {};
  const url = new URL(requestUrl, 'http://relative');
  url.searchParams.set('cursor', Buffer.from(JSON.stringify(place)).toString('base64url'));
  return { Link: `<${url.pathname}${url.search}>; rel="next"` };
}

/** A page out of rows that were asked for with one more than it may hold. */
export function cutPage<Row>(rows: readonly Row[], limit: number): { items: Row[]; end: Row | undefined } {
  const items = rows.slice(0, limit);
  return { items, end: rows.length > limit ? items.at(-1) : undefined };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
