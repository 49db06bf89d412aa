import type { CountedField, IssueField } from '@tessera/contracts';
import type { ReadOptions, ReadSource } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { IssueSnapshot, TrackerIdentity } from '../issue-core/issue.ts';
import { defaultProjectId } from '../issue-core/project.ts';
import { systemScope } from '../issue-core/project-access.ts';
import {
  partsOf,
  type SnapshotRow,
  selectListedBare,
  selectListedIssues,
  toSnapshots,
} from '../issue-store/snapshot.sql.ts';
import { findLabelsByNames } from '../labels/label.repository.ts';
import { findProjectsByKeys } from '../projects/project.repository.ts';
import { countStatement } from './issue-counts.sql.ts';
import { pageStatement, totalMaxOf } from './issue-list.sql.ts';
import {
  completeOrder,
  type IssueCount,
  type IssueFilters,
  type IssueListRequest,
  type ListedIssue,
  type SortValue,
} from './issue-list.ts';

interface FoundPage {
  /** The issues of the page, and one more if another page exists. */
  issues: ListedIssue[];
  /** Undefined if no total was requested, or if the total exceeds the limit or is too expensive to count. */
  total: number | undefined;
  /** Whether `total` is that of all matching issues. */
  isWhole: boolean;
  /** The sort values of the last issue that was looked at, if the page ends before it is full. */
  lookedUntil: readonly SortValue[] | undefined;
}

interface PageRow extends Omit<ListedIssue, 'id'> {
  id: string | null;
  total?: number | null;
  isWhole?: boolean;
  lookedUntil?: string | null;
}

/** Reads lists of issues. */
export class IssueListRepository {
  readonly #source: ReadSource;
  readonly #tracker: TrackerIdentity | undefined;
  readonly #keyPrefix: string;

  /** `keyPrefix`: the key of the default project. */
  constructor(source: ReadSource, keyPrefix: string, tracker?: TrackerIdentity) {
    this.#source = source;
    this.#keyPrefix = keyPrefix;
    this.#tracker = tracker;
  }

  /** Runs the statements of one response. May call `run` again, with another server. */
  async read<Result>(run: (within: Transaction) => Promise<Result>, options: ReadOptions): Promise<Result> {
    return this.#source.read(run, options);
  }

  /** Finds the issues of a page with their revisions. */
  async findPage(request: IssueListRequest, within: Transaction): Promise<FoundPage> {
    const named = await this.#findNamed(request, within);
    if (named === null)
      return {
        issues: [],
        total: request.total === 'none' ? undefined : 0,
        isWhole: true,
        lookedUntil: undefined,
      };
    const statement = pageStatement({ ...request, ...named }, this.#tracker, request.scope);
    const rows = await within.$queryRaw<PageRow[]>(statement);
    const [{ total, isWhole = true, lookedUntil = null } = {}] = rows;
    const max = totalMaxOf(request);
    const isCounted = isWhole && typeof total === 'number' && total <= max;
    return {
      issues: rows.filter(isIssue),
      total: isCounted || request.total === 'exact' ? Math.min(total ?? 0, max) : undefined,
      isWhole: isCounted,
      lookedUntil: lookedUntil === null ? undefined : JSON.parse(lookedUntil),
    };
  }

  /** Reads issues for a list, in no defined order. `fields`: the members that are shown; all if undefined. */
  async findIssues(
    ids: readonly string[],
    fields: readonly IssueField[] | undefined,
    within: Transaction,
  ): Promise<IssueSnapshot[]> {
    const parts = partsOf(fields);
    const select = parts.links ? selectListedIssues : selectListedBare;
    const statement = select(ids, parts, this.#tracker);
    return toSnapshots(await within.$queryRaw<SnapshotRow[]>(statement));
  }

  /** Counts issues by a member. Values without issues may be absent. */
  async count(
    counted: Pick<IssueListRequest, 'filters' | 'scope'>,
    by: CountedField,
    within: Transaction,
  ): Promise<IssueCount[]> {
    const named = await this.#findNamed(counted, within);
    if (named === null) return [];
    const request = {
      ...counted,
      ...named,
      sort: completeOrder(),
      size: 0,
      offset: 0,
      total: 'none',
    } as const;
    return within.$queryRaw<IssueCount[]>(countStatement({ ...request, tracker: this.#tracker }, by));
  }

  // Finds the labels and projects that filters name. Returns null if no issue matches, because one does not exist; an excluded one
  // that does not exist excludes none.
  async #findNamed(
    { filters, scope }: Pick<IssueListRequest, 'filters' | 'scope'>,
    within: Transaction,
  ): Promise<Pick<IssueListRequest, 'filters' | 'scope'> | null> {
    const projectIds = await this.#projectIds(filters, within);
    const project = filters.project && projectIds(filters.project).filter((id) => !scope.hidden.includes(id));
    if (project?.length === 0) return null;
    const labelIds = await this.#labelIds(filters, within);
    const label = filters.label && labelIds(filters.label);
    if (label?.length !== filters.label?.length) return null;
    // Among projects that the reader sees wholly, the scope rejects nothing, so an index has the list in order.
    const isRestricted = project?.some((id) => scope.own.includes(id)) ?? true;
    return {
      filters: {
        ...filters,
        project,
        '-project': filters['-project'] && projectIds(filters['-project']),
        label,
        '-label': filters['-label'] && labelIds(filters['-label']),
      },
      scope: isRestricted ? scope : systemScope,
    };
  }

  async #projectIds({ project = [], '-project': excluded = [] }: IssueFilters, within: Transaction) {
    const found = await findProjectsByKeys([...project, ...excluded], within);
    found.set(this.#keyPrefix, defaultProjectId);
    return (keys: readonly string[]) => [...new Set(keys.flatMap((key) => found.get(key) ?? []))];
  }

  async #labelIds({ label = [], '-label': excluded = [] }: IssueFilters, within: Transaction) {
    const found = await findLabelsByNames([...label, ...excluded], within);
    return (names: readonly string[]) => names.flatMap((name) => found.get(name)?.id ?? []);
  }
}

function isIssue(row: PageRow): row is PageRow & ListedIssue {
  return row.id !== null;
}
