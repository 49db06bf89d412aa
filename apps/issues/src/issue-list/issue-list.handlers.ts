import {
  type IssueListQuery as ArrayQuery,
  type countIssues,
  daySchema,
  findContradictions,
  type IssueFilterQuery,
  type IssuePage,
  type IssuePageQuery,
  issueFilters,
  issuePriorities,
  issuePrioritySchema,
  issueStatuses,
  issueStatusSchema,
  type listIssuePages,
  type listIssues,
  pageSizeDefault,
  positionHeader,
  text,
  uuid,
} from '@tessera/contracts';
import {
  cursorTime,
  decodeCursor,
  encodeCursor,
  type Handler,
  jsonObject,
  jsonText,
  nextLink,
  validationProblem,
  withParameters,
} from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../issue-core/actor.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { parseIssueNumber, parseIssueReference } from '../issue-core/issue-reference.ts';
import { openStatuses } from '../issue-core/issue-status.ts';
import { labelKey } from '../issue-core/label.ts';
import { isKnown, shortHash, unlessKnown } from '../issue-core/precondition.ts';
import type { IssueListService } from './issue-list.service.ts';
import {
  completeOrder,
  type IssueFilters,
  type IssueListPage,
  type IssueListQuery,
  type KnownPage,
  noDay,
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
  const list: Handler<typeof listIssues, Actor> = async ({ query: wire, headers, request, actor }) => {
    const url = urls.list + searchOf(request.url);
    const size = wire.limit ?? listMax;
    const after = headers[positionHeader];
    const query = readQuery(wire, { actor, keyPrefix: urls.keyPrefix, url, size, after });
    const found = await lists.find(query, knownBy(headers));
    return found.items === undefined ? notModified(found) : presentArray(found, query);
  };

  const listPage: Handler<typeof listIssuePages, Actor> = async ({
    query: wire,
    headers,
    request,
    actor,
  }) => {
    const url = urls.pages + searchOf(request.url);
    const { page = 1, page_size: size = pageSizeDefault } = wire;
    const after = headers[positionHeader];
    const query = readQuery(wire, { actor, keyPrefix: urls.keyPrefix, url, size, page, after });
    const found = await lists.find(query, knownBy(headers));
    return found.items === undefined ? notModified(found) : presentPage(found, query);
  };

  const count: Handler<typeof countIssues, Actor> = async ({ query: { by, ...wire }, headers, actor }) => {
    const counted = { filters: readFilters(wire, actor, urls.keyPrefix), scope: actor.access.scope };
    const body = jsonText(await lists.count(counted, by, headers[positionHeader]));
    return unlessKnown(headers, { status: 200, headers: { ETag: `"${shortHash(body)}"` }, body });
  };

  return { list, listPage, count };
}

function knownBy({ 'If-None-Match': header }: { 'If-None-Match'?: string | undefined }) {
  return header === undefined ? undefined : (etag: string) => isKnown(header, etag);
}

function notModified(page: KnownPage) {
  return { status: 304, headers: validators(page) } as const;
}

function validators({ etag }: { etag: string }) {
  return { ETag: etag, 'Cache-Control': 'private, no-cache' };
}

interface ReadOptions {
  actor: Actor;
  keyPrefix: string;
  /** The public URL of the list with the query string as sent. The links to other pages repeat it. */
  url: string;
  size: number;
  /** The number of the page. Undefined for an array without an exact count. */
  page?: number;
  /** The position in the request. */
  after: string | undefined;
}

/** Converts a query string to a list query. Throws a 422 problem for a cursor of another list. */
function readQuery(
  wire: Omit<ArrayQuery, 'limit'> | IssuePageQuery,
  { actor, keyPrefix, url, size, page, after }: ReadOptions,
): IssueListQuery {
  const filters = readFilters(wire, actor, keyPrefix);
  const sort = completeOrder(wire.ordering);
  const place =
    wire.cursor === undefined
      ? undefined
      : decodeCursor(wire.cursor, placeSchema(sort), { list: filters, sort });
  return {
    request: {
      filters,
      scope: actor.access.scope,
      sort,
      size,
      after: place,
      offset: page === undefined || place !== undefined ? 0 : (page - 1) * size,
      total: page !== undefined ? 'exact' : place === undefined ? 'capped' : 'none',
      fields: wire.fields === undefined ? undefined : [...wire.fields].sort(),
    },
    page,
    url,
    after,
  };
}

const valueSchemas: Readonly<Record<SortField, z.ZodType<SortValue>>> = {
  created_at: cursorTime,
  updated_at: cursorTime,
  priority: issuePrioritySchema,
  status: issueStatusSchema,
  due_on: z.union([daySchema, z.literal(noDay)]),
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

/** A query without its order and its page. */
function filtersOf(query: IssueFilterQuery): IssueFilterQuery {
  return Object.fromEntries(Object.entries(query).filter(([name]) => name in issueFilters));
}

/** Most filters stay as the query has them. */
function readFilters(query: IssueFilterQuery, actor: Actor, keyPrefix: string): IssueFilters {
  const { id, is_open: _, '-status': _1, '-priority': _2, ...filters } = filtersOf(query);
  const search = filters.search || undefined;
  const read = {
    ...filters,
    id: id && readReferences(id, keyPrefix),
    status: readStatuses(query),
    priority: readPriorities(query),
    assignee: query.assignee && readAssignees(query.assignee, actor),
    '-assignee': query['-assignee'] && readAssignees(query['-assignee'], actor),
    reporter: personId(query.reporter, actor),
    '-reporter': query['-reporter'] && readPeople(query['-reporter'], actor),
    watcher: personId(query.watcher, actor),
    label: query.label && readLabels(query.label),
    '-label': query['-label'] && readLabels(query['-label']),
    ...readProjects(query.project),
    search,
    searchedNumber: search === undefined ? undefined : parseIssueNumber(search, keyPrefix),
  };
  // `me` and the id of the caller are the same person.
  const contradictions = findContradictions(read);
  if (contradictions.length > 0) throw validationProblem(contradictions);
  return read;
}

function readReferences(texts: readonly string[], keyPrefix: string): IssueFilters['id'] {
  const references = texts.map((text) => parseIssueReference(text, keyPrefix));
  const ids = references.flatMap((reference) => ('id' in reference ? reference.id : []));
  const named = references.flatMap((reference) => ('number' in reference ? [reference] : []));
  const numbers = new Map(named.map((one) => [`${one.prefix ?? ''}-${one.number}`, one]));
  const inOrder = [...numbers.values()].sort((a, b) => a.number - b.number || compare(a.prefix, b.prefix));
  return { ids: [...new Set(ids)].sort(), numbers: inOrder };
}

function compare(left = '', right = ''): number {
  return left < right ? -1 : Number(left > right);
}

function readProjects(keys: readonly string[] | undefined) {
  const named = keys?.filter((key) => !key.startsWith('-')).sort();
  const excluded = keys?.filter((key) => key.startsWith('-')).map((key) => key.slice(1));
  return {
    project: named?.length === 0 ? undefined : named,
    '-project': excluded?.length === 0 ? undefined : excluded?.sort(),
  };
}

function readStatuses({ status, '-status': excluded, is_open: isOpen }: IssueFilterQuery) {
  if (isOpen === undefined && excluded === undefined) return status;
  return (status ?? issueStatuses).filter(
    (one) => !excluded?.includes(one) && (isOpen === undefined || openStatuses.includes(one) === isOpen),
  );
}

function readPriorities({ priority, '-priority': excluded }: IssueFilterQuery) {
  if (excluded === undefined) return priority;
  return (priority ?? issuePriorities).filter((one) => !excluded.includes(one));
}

function readLabels(names: readonly string[]): string[] {
  return [...new Set(names.map(labelKey))].sort();
}

function readPeople(people: readonly string[], actor: Actor): string[] {
  return [...new Set(people.map((one) => personId(one, actor)))].sort();
}

function readAssignees(assignees: readonly string[], actor: Actor): IssueFilters['assignee'] {
  const ids = assignees.map((one) => (one === 'none' ? null : personId(one, actor)));
  return [...new Set(ids)].sort();
}

function personId(value: string, actor: Actor): string;
function personId(value: string | undefined, actor: Actor): string | undefined;
function personId(value: string | undefined, actor: Actor): string | undefined {
  return value === 'me' ? actor.id : value;
}

function presentArray(found: IssueListPage, query: IssueListQuery) {
  const { items, total } = found;
  const count = total === undefined ? {} : { 'X-Total-Count': String(total) };
  const link = nextLink(query.url, nextCursor(found, query));
  return { status: 200, headers: { ...validators(found), ...count, ...link }, body: items } as const;
}

function presentPage(found: IssueListPage, query: IssueListQuery) {
  const { request, page = 1, url } = query;
  const { size } = request;
  const cursor = nextCursor(found, query);
  const link = (changed: Record<string, string | undefined>) =>
    jsonText(withParameters(url, { cursor: undefined, page_size: String(size), ...changed }));
  const body = jsonObject<IssuePage>({
    count: jsonText(found.total ?? 0),
    is_complete: jsonText(found.isWhole),
    // The link contains the sort values of the page's last issue, so new issues do not shift the next page.
    next: cursor === undefined ? jsonText(null) : link({ page: String(page + 1), cursor }),
    previous:
      page === 1 || (page - 2) * size > offsetMax
        ? jsonText(null)
        : link({ page: page === 2 ? undefined : String(page - 1) }),
    results: found.items,
  });
  return { status: 200, headers: validators(found), body } as const;
}

function nextCursor({ end }: IssueListPage, { request: { filters, sort } }: IssueListQuery) {
  return end === undefined ? undefined : encodeCursor(end, { list: filters, sort });
}
