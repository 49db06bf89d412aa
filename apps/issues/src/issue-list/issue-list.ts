import type {
  IssuePriority,
  IssueStatus,
  IssueSummary,
  LinkType,
  OrderingField,
  OrderingKey,
  SyncFilter,
} from '@tessera/contracts';
import type { JsonText } from '@tessera/service-kit';
import type { IssueRevision } from '../issues/issue.ts';

/** What lists are sorted by; `id` last, if nothing else is unique. */
export type SortField = OrderingField | 'id';

export interface SortKey {
  field: SortField;
  descending: boolean;
}

/** The value of a sort key: one for each key is the place where a page ended. */
export type SortValue = string | number;

/** Which issues a list shows; absent means: any. */
export interface IssueFilters {
  statuses?: readonly IssueStatus[] | undefined;
  priorities?: readonly IssuePriority[] | undefined;
  /** Null: nobody's. */
  assigneeId?: string | null | undefined;
  reporterId?: string | undefined;
  links?: readonly { type: LinkType; ref: string }[] | undefined;
  /** Names. */
  labels?: readonly string[] | undefined;
  sync?: SyncFilter | undefined;
  createdFrom?: Date | undefined;
  createdBefore?: Date | undefined;
  updatedFrom?: Date | undefined;
  updatedBefore?: Date | undefined;
  search?: string | undefined;
  /** The number that the search text spells: that issue comes first. */
  searchedNumber?: number | undefined;
}

/** One page of a list, as asked for. */
export interface IssueListRequest {
  filters: IssueFilters;
  /** The labels that `filters.labels` names. */
  labelIds?: readonly string[] | undefined;
  sort: readonly SortKey[];
  size: number;
  /** Where the page before ended; empty: with the issue whose number was searched for. */
  after?: readonly SortValue[] | undefined;
  /** How many issues to pass over; where there is no `after`. */
  offset: number;
  total: 'none' | 'capped' | 'exact';
}

/** A list as requested over HTTP. */
export interface IssueListQuery {
  request: IssueListRequest;
  /** The number of the page if an envelope was requested; otherwise the response is an array. */
  page: number | undefined;
  /** The public URL of the list with the parameters that were sent. */
  url: string;
}

/** An issue that a list has found, with what decides whether a text of it is still true. */
export interface ListedIssue extends Omit<IssueRevision, 'names'> {
  id: string;
  reporterName: string | null;
  assigneeName: string | null;
  /** Whether it comes first because its number was searched for. */
  isSearched?: boolean;
}

/** One page of a list. */
export interface IssueListPage {
  items: JsonText<IssueSummary[]>;
  /** Where this page ended, if there are more. */
  end: readonly SortValue[] | undefined;
  /** Undefined where it was not asked for, is above its bound, or would take long to count. */
  total: number | undefined;
}

/** Totals that are counted without being asked for, at most. */
export const totalMax = 10_000;

/** Issues before a page that is requested by its number, at most: PostgreSQL reads all of them. */
export const offsetMax = 10_000;

const newestFirst: readonly OrderingKey[] = [{ field: 'created_at', descending: true }];

/**
 * The keys that make an order total: `created_at` and `id` follow in the direction of the last one, so that one index
 * serves both directions. A number is unique by itself.
 */
export function completeOrder(keys: readonly OrderingKey[] = newestFirst): SortKey[] {
  const fields = keys.map((key) => key.field);
  if (fields.includes('number')) return keys.slice(0, fields.indexOf('number') + 1);
  const descending = keys.at(-1)?.descending ?? true;
  const ties: SortKey[] = fields.includes('created_at') ? [] : [{ field: 'created_at', descending }];
  return [...keys, ...ties, { field: 'id', descending }];
}
