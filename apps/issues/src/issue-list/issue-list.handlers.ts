import {
  type IssuePage,
  issuePrioritySchema,
  issueStatuses,
  issueStatusSchema,
  type listIssues,
  pageSizeDefault,
  text,
  uuid,
  type IssueListQuery as WireQuery,
} from '@tessera/contracts';
import {
  cursorTime,
  decodeCursor,
  encodeCursor,
  type Handler,
  jsonObject,
  jsonText,
  nextLink,
  type ResponseOf,
  withParameters,
} from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../authentication/actor.ts';
import { openStatuses } from '../issue-status/issue-status.ts';
import { parseIssueNumber } from '../issues/issue-reference.ts';
import type { IssueUrls } from '../issues/issue-urls.ts';
import { labelKey } from '../labels/label.ts';
import type { IssueListService } from './issue-list.service.ts';
import {
  completeOrder,
  type IssueFilters,
  type IssueListPage,
  type IssueListQuery,
  offsetMax,
  type SortField,
  type SortKey,
  type SortValue,
} from './issue-list.ts';

interface IssueListHandlersOptions {
  lists: IssueListService;
  urls: IssueUrls;
  /** Maximum number of issues in an array response if the client sets no `limit`. */
  listMax: number;
}

export function issueListHandlers({ lists, urls, listMax }: IssueListHandlersOptions) {
  const list: Handler<typeof listIssues, Actor> = async ({ query: wire, request, actor }) => {
    const query = readQuery(wire, { actor, urls, listMax, search: searchOf(request.url) });
    return presentIssueList(await lists.find(query), query);
  };

  return { list };
}

interface ReadOptions {
  actor: Actor;
  urls: IssueUrls;
  listMax: number;
  /** The query string as sent. The links to other pages repeat it. */
  search: string;
}

/** Converts a query string to a list query. Throws a 422 problem for a cursor of another list. */
function readQuery(wire: WireQuery, { actor, urls, listMax, search }: ReadOptions): IssueListQuery {
  const filters = readFilters(wire, actor, urls.keyPrefix);
  const sort = completeOrder(wire.ordering);
  const isEnvelope = wire.page !== undefined || wire.page_size !== undefined;
  const page = isEnvelope ? (wire.page ?? 1) : undefined;
  const size = isEnvelope ? (wire.page_size ?? pageSizeDefault) : (wire.limit ?? listMax);
  const after =
    wire.cursor === undefined
      ? undefined
      : decodeCursor(wire.cursor, placeSchema(sort), { list: filters, sort });
  return {
    request: {
      filters,
      sort,
      size,
      after,
      offset: page === undefined || after !== undefined ? 0 : (page - 1) * size,
      total: isEnvelope ? 'exact' : after === undefined ? 'capped' : 'none',
    },
    page,
    url: urls.list + search,
  };
}

const valueSchemas: Readonly<Record<SortField, z.ZodType<SortValue>>> = {
  created_at: cursorTime,
  updated_at: cursorTime,
  priority: issuePrioritySchema,
  status: issueStatusSchema,
  number: z.int().positive(),
  title: text().max(1000),
  id: uuid(),
};

// An empty array is the position after the issue with the searched number, before all other issues.
function placeSchema(sort: readonly SortKey[]): z.ZodType<SortValue[]> {
  const [first, ...rest] = sort.map(({ field }) => valueSchemas[field]);
  return first === undefined ? z.tuple([]) : z.union([z.tuple([]), z.tuple([first, ...rest])]);
}

function searchOf(target = ''): string {
  const start = target.indexOf('?');
  return start === -1 ? '' : target.slice(start);
}

function readFilters(query: WireQuery, actor: Actor, keyPrefix: string): IssueFilters {
  const { status, priority, assignee, reporter, link, external } = query;
  const search = query.search === '' ? undefined : query.search;
  const links = [
    link,
    external === undefined ? undefined : { type: 'external_issue' as const, ref: external },
  ];
  return {
    statuses: query.is_open === undefined ? status : statusesThatAre(query.is_open, status),
    priorities: priority,
    assigneeId: assignee === 'none' ? null : personId(assignee, actor),
    reporterId: personId(reporter, actor),
    links:
      link === undefined && external === undefined ? undefined : links.filter((one) => one !== undefined),
    labels: query.label === undefined ? undefined : [...new Set(query.label.map(labelKey))].sort(),
    sync: query.sync,
    createdFrom: query.created_after,
    createdBefore: query.created_before,
    updatedFrom: query.updated_after,
    updatedBefore: query.updated_before,
    search,
    searchedNumber: search === undefined ? undefined : parseIssueNumber(search, keyPrefix),
  };
}

function statusesThatAre(open: boolean, among: WireQuery['status']) {
  const isWanted = (status: NonNullable<typeof among>[number]) => openStatuses.includes(status) === open;
  return (among ?? issueStatuses).filter(isWanted);
}

function personId(value: string | undefined, actor: Actor): string | undefined {
  return value === 'me' ? actor.id : value;
}

/** Returns a page as an array with headers, or as an envelope if the client requested one. */
function presentIssueList(
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
    // The link contains the sort values of the page's last issue, so new issues do not shift the next page.
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
