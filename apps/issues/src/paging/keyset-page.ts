import type { PageQuery } from '@tessera/contracts';
import { decodeCursor, encodeCursor, type SortKey, type SortValue } from './cursor.ts';
import { nextLink } from './page-address.ts';

const sizeDefault = 100;

/** A page of a list that has one order and no filters, such as the comments of an issue. */
export interface KeysetPage {
  size: number;
  /** Where the page before ended. */
  after: readonly SortValue[] | undefined;
  /** A response with the items, and a link to the next page if this one ended before the list did. */
  present: <Item>(
    items: Item[],
    end: readonly SortValue[] | undefined,
  ) => { status: 200; headers: Record<string, string>; body: Item[] };
}

/** Reads `limit` and `cursor` of the list at a URL; throws a 422 problem for a cursor of another list. */
export function readKeysetPage(
  { limit, cursor }: PageQuery,
  listUrl: string,
  sort: readonly SortKey[],
): KeysetPage {
  const scope = { list: listUrl, sort };
  const parameters = limit === undefined ? [] : [['limit', String(limit)] as const];
  return {
    size: limit ?? sizeDefault,
    after: cursor === undefined ? undefined : decodeCursor(cursor, scope),
    present: (items, end) => ({
      status: 200,
      headers: nextLink(listUrl, parameters, end === undefined ? undefined : encodeCursor(end, scope)),
      body: items,
    }),
  };
}
