import type { IssuePage, listIssues } from '@tessera/contracts';
import {
  encodeCursor,
  jsonObject,
  jsonText,
  nextLink,
  type ResponseOf,
  withParameters,
} from '@tessera/service-kit';
import { type IssueListPage, type IssueListQuery, offsetMax } from './issue-list.ts';

/** A page as an array with headers, or as an envelope if one was requested. */
export function presentIssueList(
  found: IssueListPage,
  { request, page, url }: IssueListQuery,
): ResponseOf<typeof listIssues> {
  const { filters, sort, size } = request;
  const cursor = found.end === undefined ? undefined : encodeCursor(found.end, { list: filters, sort });
  if (page === undefined) return presentArray(found, nextLink(url, cursor));
  const link = (changed: Record<string, string | undefined>) =>
    jsonText(withParameters(url, { cursor: undefined, page_size: String(size), ...changed }));
  const body = jsonObject<IssuePage>({
    count: jsonText(found.total ?? 0),
    // The next page is named by where this one ended: issues that come in between shift nothing.
    next: cursor === undefined ? jsonText(null) : link({ page: String(page + 1), cursor }),
    previous:
      page === 1 || (page - 2) * size > offsetMax
        ? jsonText(null)
        : link({ page: page === 2 ? undefined : String(page - 1) }),
    results: found.items,
  });
  return { status: 200, body };
}

function presentArray(
  { items, total }: IssueListPage,
  link: Record<string, string>,
): ResponseOf<typeof listIssues> {
  const count = total === undefined ? {} : { 'X-Total-Count': String(total) };
  return { status: 200, headers: { ...count, ...link }, body: items };
}
