import { createHash } from 'node:crypto';
import { z } from 'zod';
import { type JsonText, jsonPage } from './json-response.ts';
import { validationProblem } from './problem.ts';

/** A page of a list that is sorted by a unique key, such as time and id. A place is a value of that key. */
export interface KeysetPage<Place> {
  /** The number of rows to read: one more than the page size. */
  limit: number;
  /** The place of the previous page's last row. */
  after: Place | undefined;
  /** Returns a response with the first rows, and a link to the next page if further rows follow. */
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
  // The scope excludes the origin, because replicas may have different base URLs.
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
 * Encodes the place after which a page begins. The checksum binds the cursor to its list and detects changes. It is not
 * a signature: a cursor grants no access, and its place is validated like any other input.
 * @param scope identifies the list, for example by its filters and its order
 */
export function encodeCursor(place: unknown, scope: unknown): string {
  const content = JSON.stringify(place);
  return checksum(content, scope) + Buffer.from(content).toString('base64url');
}

/** Decodes a cursor. Throws a 422 problem for `field` if it was changed or has another scope. */
export function decodeCursor<Place>(
  cursor: string,
  schema: z.ZodType<Place>,
  scope: unknown,
  field = 'cursor',
): Place {
  const content = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  const isOfScope = cursor.slice(0, checksumLength) === checksum(content, scope);
  const result = schema.safeParse(isOfScope ? parseJson(content) : undefined);
  if (result.success) return result.data;
  throw validationProblem([
    { field, message: 'is not a cursor of this list with these filters and this ordering' },
  ]);
}

/** Returns the `Link` header (RFC 8288) to the next page; no header without a cursor. */
export function nextLink(url: string, cursor: string | undefined): Record<string, string> {
  return cursor === undefined ? {} : { Link: `<${withParameters(url, { cursor })}>; rel="next"` };
}

/** Returns a URL, absolute or relative to the root, with changed parameters. Undefined removes a parameter. */
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
