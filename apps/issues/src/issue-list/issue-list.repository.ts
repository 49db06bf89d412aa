import type { Database, Transaction } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import {
  listedColumns,
  type SnapshotRow,
  selectListedLinks,
  selectSnapshots,
  toSnapshots,
} from '../issues/issue.sql.ts';
import type { IssueSnapshot, TrackerIdentity } from '../issues/issue.ts';
import { LabelRepository } from '../labels/label.repository.ts';
import { pageStatement } from './issue-list.sql.ts';
import { type IssueListRequest, type ListedIssue, totalMax } from './issue-list.ts';

interface FoundPage {
  /** One more than the page holds where there are further ones. */
  issues: ListedIssue[];
  /** Undefined where it was not asked for, is above its bound, or would take long to count. */
  total: number | undefined;
}

interface PageRow extends Omit<ListedIssue, 'id'> {
  id: string | null;
  total?: number | null;
}

/** Lists of issues in the database. */
export class IssueListRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity | undefined;
  readonly #labels: LabelRepository;

  constructor(database: Database, tracker?: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
    this.#labels = new LabelRepository(database);
  }

  /** The issues of a page, with what decides how each is shown. */
  async findPage(request: IssueListRequest, within: Transaction = this.#database): Promise<FoundPage> {
    const { labels } = request.filters;
    const found = labels === undefined ? undefined : await this.#labels.findByNames(labels, within);
    // No issue has a label that does not exist.
    if (found !== undefined && found.size < new Set(labels).size)
      return { issues: [], total: request.total === 'none' ? undefined : 0 };
    const labelIds = found === undefined ? undefined : [...found.values()].map(({ id }) => id);
    const statement = pageStatement({ ...request, labelIds }, this.#tracker);
    const rows = await within.$queryRaw<PageRow[]>(statement);
    const total = rows[0]?.total ?? undefined;
    const isAboveBound = request.total === 'capped' && total !== undefined && total > totalMax;
    return { issues: rows.filter(isIssue), total: isAboveBound ? undefined : total };
  }

  /** What a list shows of issues, in no order. */
  async findIssues(ids: readonly string[], within: Transaction = this.#database): Promise<IssueSnapshot[]> {
    const issues = Prisma.sql`SELECT ${listedColumns} FROM issues WHERE id = ANY(${[...ids]}::uuid[])`;
    const sources = { issues, links: selectListedLinks(ids), conflictsBytes: 0, isList: true };
    const statement = selectSnapshots(sources, this.#tracker);
    return toSnapshots(await within.$queryRaw<SnapshotRow[]>(statement));
  }

  /** Runs statements that all see the same state of the database. */
  async inSnapshot<Result>(run: (within: Transaction) => Promise<Result>): Promise<Result> {
    return this.#database.$transaction(run, { isolationLevel: 'RepeatableRead' });
  }
}

function isIssue(row: PageRow): row is PageRow & ListedIssue {
  return row.id !== null;
}
