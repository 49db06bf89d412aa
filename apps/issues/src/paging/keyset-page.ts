import type { PageQuery } from '@tessera/contracts';
import { type JsonText, jsonPage } from '@tessera/service-kit';
import { decodeCursor, encodeCursor, type SortKey, type SortValue } from './cursor.ts';
import { nextLink } from './page-address.ts';

const sizeDefault = 100;

/** A page of a list that has one order and no filters, such as the comments of an issue. */
export interface KeysetPage {
  /** How many items to read: one more than the page has at most. */
  limit: number;
  /** Where the page before ended. */
  after: readonly SortValue[] | undefined;
  /** A response with the first items, and a link to the next page if further ones follow. */
  present: <Row, Item>(
    rows: readonly Row[],
    presenter: { item: (row: Row) => Item; place: (row: Row) => readonly SortValue[] },
  ) => { status: 200; headers: Record<string, string>; body: JsonText<Item[]> };
}

/** Reads `limit` and `cursor` of the list at a URL; throws a 422 problem for a cursor of another list. */
export function readKeysetPage(
  { limit, cursor }: PageQuery,
  listUrl: string,
  sort: readonly SortKey[],
): KeysetPage {
  const scope = { list: listUrl, sort };
  const parameters = limit === undefined ? [] : [['limit', String(limit)] as const];
  const size = limit ?? sizeDefault;
  return {
    limit: size + 1,
    after: cursor === undefined ? undefined : decodeCursor(cursor, scope),
    present: (rows, { item, place }) => {
      const { body, end } = jsonPage(rows, size, item);
      const next = end === undefined ? undefined : encodeCursor(place(end), scope);
      return { status: 200, headers: nextLink(listUrl, parameters, next), body };
    },
  };
}
