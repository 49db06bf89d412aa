import type { IssuePage, listIssues } from '@tessera/contracts';
import { jsonObject, jsonText, type ResponseOf } from '@tessera/service-kit';
import { encodeCursor } from '../paging/cursor.ts';
import { nextLink, pageAddress } from '../paging/page-address.ts';
import type { IssueListQuery } from './issue-list.query.ts';
import type { IssueListPage } from './issue-list.ts';

/** A page as an array with headers, or as an envelope where one was asked for. `listUrl` is the list's public address. */
export function presentIssueList(
  found: IssueListPage,
  query: IssueListQuery,
  listUrl: string,
): ResponseOf<typeof listIssues> {
  const { filters, sort, size } = query.request;
  const cursor = found.end === undefined ? undefined : encodeCursor(found.end, { list: filters, sort });
  if (query.page === undefined) return presentArray(found, { cursor, query, listUrl });
  const { page } = query;
  const link = (changed: Record<string, string | undefined>) =>
    jsonText(
      pageAddress(listUrl, query.parameters, { cursor: undefined, page_size: String(size), ...changed }),
    );
  const body = jsonObject<IssuePage>({
    count: jsonText(found.total ?? 0),
    // The next page is named by where this one ended: issues that come in between shift nothing.
    next: cursor === undefined ? jsonText(null) : link({ page: String(page + 1), cursor }),
    previous: page === 1 ? jsonText(null) : link({ page: page === 2 ? undefined : String(page - 1) }),
    results: found.items,
  });
  return { status: 200, body };
}

function presentArray(
  { items, total }: IssueListPage,
  { cursor, query, listUrl }: { cursor: string | undefined; query: IssueListQuery; listUrl: string },
): ResponseOf<typeof listIssues> {
  return {
    status: 200,
    headers: {
      ...(total === undefined ? {} : { 'X-Total-Count': String(total) }),
      ...nextLink(listUrl, query.parameters, cursor),
    },
    body: items,
  };
}
