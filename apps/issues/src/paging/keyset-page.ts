import { type PageQuery, pageQuerySchema } from '@tessera/contracts';
import { type Answer, parse } from '@tessera/service-kit';
import { decodeCursor, encodeCursor, type SortKey, type SortValue } from './cursor.ts';
import { nextLink, parametersOf } from './page-address.ts';

const sizeDefault = 100;

/** A page of a list that has one order and no filters, such as the comments of an issue. */
export interface KeysetPage {
  size: number;
  /** Where the page before ended. */
  after: readonly SortValue[] | undefined;
  /** An answer with the items as an array, and the way to the next page where this one ended before the list did. */
  present: (items: unknown[], end: readonly SortValue[] | undefined) => Answer;
}

/** Reads `limit` and `cursor` of the list at an address; throws a 422 problem for anything else. */
export function readKeysetPage(query: object, listUrl: string, sort: readonly SortKey[]): KeysetPage {
  const { limit, cursor }: PageQuery = parse(pageQuerySchema, query);
  const scope = { list: listUrl, sort };
  return {
    size: limit ?? sizeDefault,
    after: cursor === undefined ? undefined : decodeCursor(cursor, scope),
    present: (items, end) => ({
      status: 200,
      headers: nextLink(
        listUrl,
        parametersOf(query),
        end === undefined ? undefined : encodeCursor(end, scope),
      ),
      body: JSON.stringify(items),
    }),
  };
}
