import {
  issuePrioritySchema,
  issueStatuses,
  issueStatusSchema,
  type listIssues,
  pageSizeDefault,
  text,
  uuid,
  type IssueListQuery as WireQuery,
} from '@tessera/contracts';
import { cursorTime, decodeCursor, type Handler } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../authentication/actor.ts';
import { openStatuses } from '../issue-status/issue-status.ts';
import { parseIssueNumber } from '../issues/issue-reference.ts';
import type { IssueUrls } from '../issues/issue-urls.ts';
import { labelKey } from '../labels/label.ts';
import { presentIssueList } from './issue-list.presenter.ts';
import type { IssueListService } from './issue-list.service.ts';
import {
  completeOrder,
  type IssueFilters,
  type IssueListQuery,
  type SortField,
  type SortKey,
  type SortValue,
} from './issue-list.ts';

interface IssueListHandlersOptions {
  lists: IssueListService;
  urls: IssueUrls;
  /** Issues in an array whose size the client did not choose. */
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
  /** The query string as it was sent: further pages are requested with the same one. */
  search: string;
}

/** Interprets the query of a list for a caller; throws a 422 problem for a cursor of another list. */
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

// The empty place is before the first issue that is not the one whose number was searched for.
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
