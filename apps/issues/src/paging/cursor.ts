import { createHash } from 'node:crypto';
import { issuePrioritySchema, issueStatusSchema, type OrderingField, text, uuid } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import { z } from 'zod';

/** What lists are sorted by; `id` last, where nothing else is unique. */
export type SortField = OrderingField | 'id';

/** One sort key. */
export interface SortKey {
  field: SortField;
  descending: boolean;
}

/** The sort values of an item, one for each sort key: where a page ended. */
export type SortValue = string | number;

/** The list that a cursor belongs to. A cursor is invalid with another filter or order. */
export interface CursorScope {
  /** What distinguishes the list from others, such as its filters. */
  list: unknown;
  sort: readonly SortKey[];
}

const checksumLength = 16;

const valueSchemas: Readonly<Record<SortField, z.ZodType<SortValue>>> = {
  created_at: z.iso.datetime({ precision: 3 }),
  updated_at: z.iso.datetime({ precision: 3 }),
  priority: issuePrioritySchema,
  status: issueStatusSchema,
  number: z.int().positive(),
  title: text().max(1000),
  id: uuid(),
};

/**
 * A cursor holds the sort values after which a page begins. The checksum ties it to its list and detects changes. It is
 * not a signature: a position in a list that every user may read is neither secret nor a permission.
 */
export function encodeCursor(values: readonly SortValue[], scope: CursorScope): string {
  const content = JSON.stringify(values);
  return checksum(content, scope) + Buffer.from(content).toString('base64url');
}

/** Throws a 422 problem for a cursor of another list, or one that was changed. */
export function decodeCursor(cursor: string, scope: CursorScope): SortValue[] {
  const content = Buffer.from(cursor.slice(checksumLength), 'base64url').toString();
  const values =
    cursor.slice(0, checksumLength) === checksum(content, scope) ? parseValues(content, scope) : undefined;
  if (values === undefined) {
    throw validationProblem([
      {
        field: 'cursor',
        message: 'is not a cursor of this list with these filters and this ordering',
      },
    ]);
  }
  return values;
}

function checksum(content: string, scope: CursorScope): string {
  return createHash('sha256')
    .update(JSON.stringify([scope.list, scope.sort, content]))
    .digest('base64url')
    .slice(0, checksumLength);
}

// Any client can compute a checksum, so the values that go into a statement are validated.
function parseValues(content: string, { sort }: CursorScope): SortValue[] | undefined {
  const parsed = z.array(z.unknown()).safeParse(parseJson(content));
  if (!parsed.success) return undefined;
  if (parsed.data.length === 0) return [];
  if (parsed.data.length !== sort.length) return undefined;
  const values = sort.map(({ field }, place) => valueSchemas[field].safeParse(parsed.data[place]));
  return values.every((value) => value.success) ? values.map((value) => value.data) : undefined;
}

function parseJson(content: string): unknown {
  try {
    return JSON.parse(content);
  } catch {
    return undefined;
  }
}
