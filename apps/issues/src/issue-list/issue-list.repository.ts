import { type Database, prepared } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import { createDocumentCache } from '../issues/document-cache.ts';
import type { IssueDocument } from '../issues/issue-document.repository.ts';
import type { SortValue } from '../paging/cursor.ts';
import { type IssueListPage, type IssueListRequest, totalMax } from './issue-list.ts';
import { pageStatement } from './issue-page.sql.ts';

interface PageRow {
  items: string;
  ended: SortValue[] | null;
  total: number | null;
}

interface SummaryRow {
  key: string;
  summary: string;
}

// JSON writes it as an escape, so it stands in no key.
const separator = '\x1e';

/**
 * Lists of issues. To make fifty documents costs PostgreSQL five times what it costs to find them (packages/dev/bench), so
 * a page is found as keys, and only what this process has not seen yet is made. The database that it is given plans
 * each statement anew, with its values, unless it is `prepared`: a prepared plan cannot know which of many filters
 * leaves few issues.
 */
export class IssueListRepository {
  readonly #database: Database;
  readonly #document: IssueDocument;
  // By a key that names everything they show: what changes has another key.
  readonly #summaries = createDocumentCache<string>((summary) => summary.length);

  constructor(database: Database, document: IssueDocument) {
    this.#database = database;
    this.#document = document;
  }

  async findPage(request: IssueListRequest): Promise<IssueListPage> {
    const { items, ...page } = await this.#query(request, this.keyStatement(request));
    const summaries = await this.#summariesOf(items === '' ? [] : items.split(separator));
    // An issue changed between the two statements: together they would show what never was.
    if (summaries === undefined) return this.findWholePage(request);
    return { ...page, items: `[${summaries.join(',')}]` };
  }

  /** The same from one statement, which makes every document. */
  async findWholePage(request: IssueListRequest): Promise<IssueListPage> {
    const page = await this.#query(request, this.statement(request));
    return { ...page, items: `[${page.items}]` };
  }

  /** The statement of a page of keys. */
  keyStatement(request: IssueListRequest): Prisma.Sql {
    const items = Prisma.sql`string_agg(${this.#document.summaryKey}, ${Prisma.raw(`E'\\x1e'`)} ORDER BY i.place)`;
    const page = pageStatement(request, items, this.#document.relations);
    return isOrdinary(request) ? Prisma.sql`${prepared}${page}` : page;
  }

  /** The statement of a page of documents; public, as the other one, so that a test can look at its plan. */
  statement(request: IssueListRequest): Prisma.Sql {
    const items = Prisma.sql`string_agg(${this.#document.summary}, ',' ORDER BY i.place)`;
    return pageStatement(request, items, this.#document.relations);
  }

  async #query(request: IssueListRequest, statement: Prisma.Sql): Promise<IssueListPage> {
    const [row] = await this.#database.$queryRaw<PageRow[]>(statement);
    if (row === undefined) throw new Error('an aggregate without GROUP BY has one row');
    const isAboveBound = request.total === 'capped' && (row.total ?? 0) > totalMax;
    return {
      items: row.items,
      end: row.ended ?? undefined,
      total: isAboveBound ? undefined : (row.total ?? undefined),
    };
  }

  // Undefined where a key names what is not there any more.
  async #summariesOf(keys: readonly string[]): Promise<string[] | undefined> {
    const known = new Map(keys.map((key) => [key, this.#summaries.get(key)]));
    const missing = keys.filter((key) => known.get(key) === undefined);
    for (const { key, summary } of missing.length === 0 ? [] : await this.#make(missing)) {
      this.#summaries.set(key, summary);
      known.set(key, summary);
    }
    const summaries = keys.map((key) => known.get(key)).filter((summary) => summary !== undefined);
    return summaries.length === keys.length ? summaries : undefined;
  }

  #make(keys: readonly string[]): Promise<SummaryRow[]> {
    const ids = keys.map((key) => key.slice(0, uuidLength));
    return this.#database.$queryRaw<SummaryRow[]>`${prepared}
      SELECT ${this.#document.summaryKey} AS key, ${this.#document.summary} AS summary
        FROM issues i ${this.#document.relations} WHERE i.id = ANY(${ids}::uuid[])`;
  }
}

const uuidLength = 36;

// The first page of everything, in a size that many ask for: no values, so one plan is right for all.
function isOrdinary({ filters, after: end, offset, size }: IssueListRequest): boolean {
  const isWhole =
    end === undefined && offset === 0 && Object.values(filters).every((value) => value === undefined);
  return isWhole && ordinarySizes.has(size);
}

const ordinarySizes: ReadonlySet<number> = new Set([20, 25, 30, 50, 100]);
