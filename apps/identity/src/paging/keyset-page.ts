import { validationProblem } from '@tessera/service-kit';
import type { z } from 'zod';

/**
 * Decodes the position in a cursor; undefined without a cursor. Cursors grant no access, so they are validated like any
 * other input and not signed. Throws a 422 problem.
 */
export function decodeCursor<Schema extends z.ZodType>(
  positionSchema: Schema,
  cursor: string | undefined,
): z.output<Schema> | undefined {
  if (cursor === undefined) return undefined;
  const result = positionSchema.safeParse(parseJson(Buffer.from(cursor, 'base64url').toString()));
  if (!result.success) {
    throw validationProblem([{ field: 'cursor', message: 'is not a cursor of this list' }]);
  }
  return result.data;
}

/**
 * The `Link` header (RFC 8288) to the page after `position`; empty on the last page. The URL is relative, because the
 * service does not know under which host backends reach the internal API.
 */
export function nextLink(requestUrl: string, position: unknown): Record<string, string> {
  if (position === undefined) return {};
  const url = new URL(requestUrl, 'http://relative');
  url.searchParams.set('cursor', Buffer.from(JSON.stringify(position)).toString('base64url'));
  return { Link: `<${url.pathname}${url.search}>; rel="next"` };
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
