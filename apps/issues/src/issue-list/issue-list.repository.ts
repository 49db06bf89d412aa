import type { IssueField } from '@tessera/contracts';
import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import {
  listedColumns,
  partsOf,
  type SnapshotRow,
  selectBareIssues,
  selectListedLinks,
  selectSnapshots,
  toSnapshots,
} from '../issues/issue.sql.ts';
import type { IssueSnapshot, TrackerIdentity } from '../issues/issue.ts';
import { LabelRepository } from '../labels/label.repository.ts';
import { pageStatement } from './issue-list.sql.ts';
import { type IssueListRequest, type ListedIssue, totalMax } from './issue-list.ts';

interface FoundPage {
  /** The issues of the page, and one more if another page exists. */
  issues: ListedIssue[];
  /** Undefined if no total was requested, or if the total exceeds the limit or is too expensive to count. */
  total: number | undefined;
}

interface PageRow extends Omit<ListedIssue, 'id'> {
  id: string | null;
  total?: number | null;
}

/** Reads lists of issues. */
export class IssueListRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity | undefined;
  readonly #labels: LabelRepository;

  constructor(database: Database, tracker?: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
    this.#labels = new LabelRepository(database);
  }

  /** Finds the issues of a page with their revisions. */
  async findPage(request: IssueListRequest, within: Transaction = this.#database): Promise<FoundPage> {
    const { labels } = request.filters;
    const found = labels === undefined ? undefined : await this.#labels.findByNames(labels, within);
    // A filter by an unknown label matches no issue.
    if (found !== undefined && found.size < new Set(labels).size)
      return { issues: [], total: request.total === 'none' ? undefined : 0 };
    const labelIds = found === undefined ? undefined : [...found.values()].map(({ id }) => id);
    const statement = pageStatement({ ...request, labelIds }, this.#tracker);
    const rows = await within.$queryRaw<PageRow[]>(statement);
    const total = rows[0]?.total ?? undefined;
    const isAboveBound = request.total === 'capped' && total !== undefined && total > totalMax;
    return { issues: rows.filter(isIssue), total: isAboveBound ? undefined : total };
  }

  /** Reads issues for a list, in no defined order. `fields`: the members that are shown; all if undefined. */
  async findIssues(
    ids: readonly string[],
    fields: readonly IssueField[] | undefined,
    within: Transaction = this.#database,
  ): Promise<IssueSnapshot[]> {
    const parts = partsOf(fields);
    const issues = Prisma.sql`SELECT ${listedColumns(parts)} FROM issues WHERE id = ANY(${[...ids]}::uuid[])`;
    const details = { conflictsBytes: 0, parts };
    const statement = parts.links
      ? selectSnapshots({ issues, links: selectListedLinks(ids), isList: true, ...details }, this.#tracker)
      : selectBareIssues(issues, this.#tracker, details);
    return toSnapshots(await within.$queryRaw<SnapshotRow[]>(statement));
  }

  /** Runs statements in one snapshot (isolation level REPEATABLE READ). */
  async inSnapshot<Result>(run: (within: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run, { isolationLevel: 'RepeatableRead' });
  }
}

function isIssue(row: PageRow): row is PageRow & ListedIssue {
  return row.id !== null;
}
