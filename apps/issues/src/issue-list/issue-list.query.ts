import { issueStatuses, pageSizeDefault, type IssueListQuery as WireQuery } from '@tessera/contracts';
import type { Actor } from '../authentication/actor.ts';
import { openStatuses } from '../issue-status/issue-status.ts';
import { parseIssueNumber } from '../issues/issue-reference.ts';
import { decodeCursor } from '../paging/cursor.ts';
import type { Parameters } from '../paging/page-address.ts';
import { completeOrder, type IssueFilters, type IssueListRequest } from './issue-list.ts';

/** A list as asked for over HTTP. */
export interface IssueListQuery {
  request: IssueListRequest;
  /** The number of the page where an envelope was asked for; else the answer is an array. */
  page: number | undefined;
  /** The query as it was sent: what further pages are asked for with. */
  parameters: Parameters;
}

interface ReadOptions {
  actor: Actor;
  keyPrefix: string;
  /** Issues in an array whose size the client did not choose. */
  listMax: number;
}

/** Interprets the query of a list for a caller; throws a 422 problem for a cursor of another list. */
export function readIssueListQuery(
  wire: WireQuery,
  parameters: Parameters,
  { actor, keyPrefix, listMax }: ReadOptions,
): IssueListQuery {
  const filters = readFilters(wire, actor, keyPrefix);
  const sort = completeOrder(wire.ordering);
  const isEnvelope = wire.page !== undefined || wire.page_size !== undefined;
  const page = isEnvelope ? (wire.page ?? 1) : undefined;
  const size = isEnvelope ? (wire.page_size ?? pageSizeDefault) : (wire.limit ?? listMax);
  const after = wire.cursor === undefined ? undefined : decodeCursor(wire.cursor, { list: filters, sort });
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
    parameters,
  };
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
