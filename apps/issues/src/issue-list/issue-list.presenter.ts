import type { IssuePage, IssueSummary, listIssues } from '@tessera/contracts';
import type { JsonText, ResponseOf } from '@tessera/service-kit';
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
  const link = (parameters: Record<string, string | undefined>) =>
    JSON.stringify(
      pageAddress(listUrl, query.parameters, { cursor: undefined, page_size: String(size), ...parameters }),
    );
  // The next page is named by where this one ended: issues that come in between shift nothing.
  const next = cursor === undefined ? 'null' : link({ page: String(page + 1), cursor });
  const previous = page === 1 ? 'null' : link({ page: page === 2 ? undefined : String(page - 1) });
  const body = `{"count":${found.total ?? 0},"next":${next},"previous":${previous},"results":${found.items}}`;
  return { status: 200, body: body as JsonText<IssuePage> };
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
    body: items as JsonText<IssueSummary[]>,
  };
}
