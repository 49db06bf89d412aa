import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type JsonText, jsonPage } from './json-text.ts';
import { validationProblem } from './problem.ts';

/** A page of a list that is sorted by a unique place, such as time and id. */
export interface KeysetPage<Place> {
  /** How many rows to read: one more than the page shows at most. */
  limit: number;
  /** The place of the last row of the previous page. */
  after: Place | undefined;
  /** A response with the first rows, and a link to the next page if further rows follow. */
  present: <Row, Item>(
    rows: readonly Row[],
    presenter: { item: (row: Row) => Item; place: (row: Row) => unknown },
  ) => { status: 200; headers: Record<string, string>; body: JsonText<Item[]> };
}

interface KeysetList<Place> {
  /** Absolute, or relative to the root. Its parameters, without `limit` and `cursor`, are part of every cursor's scope. */
  url: string;
  /** Validates the place in a cursor. */
  place: z.ZodType<Place>;
  sizeDefault: number;
}

/** Reads `limit` and `cursor`; throws a 422 problem for a cursor of another list. */
export function readKeysetPage<Place>(
  query: { limit?: number | undefined; cursor?: string | undefined },
  { url, place: placeSchema, sizeDefault }: KeysetList<Place>,
): KeysetPage<Place> {
  const size = query.limit ?? sizeDefault;
  const listUrl = withParameters(url, { limit: undefined, cursor: undefined });
  const pageUrl = withParameters(listUrl, { limit: query.limit?.toString() });
  // Without the origin: replicas may have different base URLs.
  const { pathname, search } = new URL(listUrl, 'http://relative');
  const scope = `${pathname}${search}`;
  return {
    limit: size + 1,
    after: query.cursor === undefined ? undefined : decodeCursor(query.cursor, placeSchema, scope),
    present: (rows, { item, place }) => {
      const { body, end } = jsonPage(rows, size, item);
      const next = end === undefined ? undefined : encodeCursor(place(end), scope);
      return { status: 200, headers: nextLink(pageUrl, next), body };
    },
  };
}

/** A point in time in a cursor, in milliseconds. PostgreSQL has no year 0. */
export const cursorTime = z.iso.datetime({ precision: 3 }).refine((time) => !time.startsWith('0000'));

const checksumLength = 16;

/**
 * A cursor holds the place after which a page begins. The checksum ties it to its list and detects changes. It is not a
 * signature: a cursor grants no access, so its place is validated like any other input.
 * @param scope what distinguishes the list from others, such as its filters and its order
 */
export function encodeCursor(place: unknown, scope: unknown): string {
  const content = JSON.stringify(place);
  return checksum(content, scope) + Buffer.from(content).toString('base64url');
}

/** Throws a 422 problem for a cursor of another scope, or one that was changed. */
export function decodeCursor<Place>(cursor: string, schema: z.ZodType<Place>, scope: unknown): Place {
  const content = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  const isOfScope = cursor.slice(0, checksumLength) === checksum(content, scope);
  const result = schema.safeParse(isOfScope ? parseJson(content) : undefined);
  if (result.success) return result.data;
  throw validationProblem([
    { field: 'cursor', message: 'is not a cursor of this list with these filters and this ordering' },
  ]);
}

/** The `Link` header (RFC 8288) to the next page; empty without a cursor. */
export function nextLink(url: string, cursor: string | undefined): Record<string, string> {
  return cursor === undefined ? {} : { Link: `<${withParameters(url, { cursor })}>; rel="next"` };
}

/** A URL, absolute or relative to the root, with other parameters; undefined removes one. */
export function withParameters(url: string, changed: Readonly<Record<string, string | undefined>>): string {
  const parsed = new URL(url, 'http://relative');
  for (const [name, value] of Object.entries(changed)) {
    parsed.searchParams.delete(name);
    if (value !== undefined) parsed.searchParams.append(name, value);
  }
  return url.startsWith('/') ? `${parsed.pathname}${parsed.search}` : parsed.href;
}

function checksum(content: string, scope: unknown): string {
  return createHash('sha256')
    .update(JSON.stringify([scope, content]))
    .digest('base64url')
    .slice(0, checksumLength);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
