import type {
  IssueField,
  IssueFilterQuery,
  OrderingField,
  OrderingKey,
  SparseIssue,
} from '@tessera/contracts';
import type { JsonText } from '@tessera/service-kit';
import type { NumberReference } from '../issue-core/issue-reference.ts';
import type { ReadScope } from '../issue-core/project-access.ts';
import type { IssueRevision } from '../issue-core/text-cache.ts';

/** A sort field. `id` is the last one unless another field is unique. */
export type SortField = OrderingField | 'id';

export interface SortKey {
  field: SortField;
  descending: boolean;
}

/** The value of a sort key. A cursor contains one value per key. */
export type SortValue = string | number;

/** The sort value of an issue without a day. */
export const noDay = 'infinity';

/** The filters that stand for something else than what the query says. */
type ReadFilter = 'id' | 'is_open' | '-status' | '-priority' | 'assignee' | '-assignee' | 'watcher';

/** The filters of a list, named as in the query. An absent filter matches every issue. */
export interface IssueFilters extends Omit<IssueFilterQuery, ReadFilter> {
  /** Ids and numbers of issues, sorted. */
  id?: { ids: readonly string[]; numbers: readonly NumberReference[] } | undefined;
  /** Sorted. Null stands for unassigned issues. */
  assignee?: readonly (string | null)[] | undefined;
  '-assignee'?: readonly (string | null)[] | undefined;
  watcher?: string | undefined;
  /** Keys of projects, present or former, sorted. */
  '-project'?: string[] | undefined;
  /** The issue number in the search text. The issue with this number is the first of the list. */
  searchedNumber?: NumberReference | undefined;
}

/** A request for a page of a list. */
export interface IssueListRequest {
  /** For statements, labels and projects are ids instead of names. */
  filters: IssueFilters;
  /** What the reader sees. A list without other issues has the same pages and totals. */
  scope: ReadScope;
  sort: readonly SortKey[];
  size: number;
  /** The sort values of the previous page's last issue; empty if that was the issue with the searched number. */
  after?: readonly SortValue[] | undefined;
  /** The number of issues to skip; used only without `after`. */
  offset: number;
  total: 'none' | 'capped' | 'exact';
  /** The members of each issue in the response, sorted; all if undefined. */
  fields?: readonly IssueField[] | undefined;
}

/** An HTTP request for a list. */
export interface IssueListQuery {
  request: IssueListRequest;
  /** The number of the page if an envelope was requested; otherwise the response is an array. */
  page: number | undefined;
  /** The public URL of the list with the query string as sent. */
  url: string;
  /** A position of the database that the list must see. */
  after?: string | undefined;
}

/** An issue of a page with its revision, by which a cached JSON text is validated. */
export interface ListedIssue extends Omit<IssueRevision, 'names'> {
  id: string;
  reporterName: string | null;
  assigneeName: string | null;
  /** Whether an open issue that the reader sees blocks it; absent if the list does not show it. */
  isBlocked?: boolean | undefined;
  /** Whether this is the issue with the searched number. */
  isSearched?: boolean;
}

/** One page of a list. */
export interface IssueListPage {
  /** Changes whenever the response with this page changes. */
  etag: string;
  items: JsonText<SparseIssue[]>;
  /** The sort values of the last issue, or of the last one that was looked at; undefined on the last page. */
  end: readonly SortValue[] | undefined;
  /** Undefined if no total was requested, or if the total exceeds the limit or is too expensive to count. */
  total: number | undefined;
  /** Whether `total` is that of all matching issues. */
  isWhole: boolean;
}

/** A page that the client has. Its issues were not read. */
export interface KnownPage extends Omit<IssueListPage, 'items'> {
  items: undefined;
}

/** The number of issues with a value: a status, a priority, or the id of an assignee. */
export interface IssueCount {
  value: string | null;
  /** The username and the display name of an assignee. */
  names?: string | null;
  /** At most one more than `countMax`; null in the single row for no issues. */
  count: number | null;
  /** Whether all matching issues were counted. */
  isComplete: boolean;
}

/** Maximum total of other lists. */
export const totalMax = 10_000;

/** Maximum total of a list by page number. */
export const exactTotalMax = 100_000;

/** Maximum number of issues before a page that is requested by its number. PostgreSQL reads all of them. */
export const offsetMax = 10_000;

const newestFirst: readonly OrderingKey[] = [{ field: 'created_at', descending: true }];

/**
 * Appends `created_at` and `id` so that the order is total. They have the direction of the last key, so one index
 * serves both directions. `number` is unique and needs no further key.
 */
export function completeOrder(keys: readonly OrderingKey[] = newestFirst): SortKey[] {
  const fields = keys.map((key) => key.field);
  if (fields.includes('number')) return keys.slice(0, fields.indexOf('number') + 1);
  const descending = keys.at(-1)?.descending ?? true;
  const ties: SortKey[] = fields.includes('created_at') ? [] : [{ field: 'created_at', descending }];
  return [...keys, ...ties, { field: 'id', descending }];
}
