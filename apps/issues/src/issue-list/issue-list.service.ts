import { type IssueField, type IssueSummary, orderingFields, type SparseIssue } from '@tessera/contracts';
import {
  type JsonText,
  jsonArray,
  jsonText,
  ProblemError,
  pageBytesMax,
  validationProblem,
} from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { IssuePresenter } from '../issues/issue.presenter.ts';
import type { IssueSnapshot } from '../issues/issue.ts';
import { createTextCache } from '../issues/text-cache.ts';
import type { IssueListRepository } from './issue-list.repository.ts';
import {
  type IssueListPage,
  type IssueListQuery,
  type IssueListRequest,
  type ListedIssue,
  offsetMax,
  type SortValue,
} from './issue-list.ts';

interface IssueListServiceDependencies {
  repository: IssueListRepository;
  presenter: IssuePresenter;
}

/** The JSON text of an issue and the revision from which it was created. */
interface CachedSummary {
  revision: ListedRevision;
  text: JsonText<SparseIssue>;
  /** The values of all sort fields as JSON, if `text` may lack some. */
  place?: string | undefined;
  /** The size of the JSON text in bytes, including the following comma. */
  bytes: number;
}

/** Lists issues. Every active user may read every issue. */
export class IssueListService {
  readonly #repository: IssueListRepository;
  readonly #presenter: IssuePresenter;
  readonly #summaries = createTextCache<CachedSummary>();
  #isBeyondCounting = false;
  #partSize = partMax;

  constructor({ repository, presenter }: IssueListServiceDependencies) {
    this.#repository = repository;
    this.#presenter = presenter;
  }

  async find({ request, page }: IssueListQuery): Promise<IssueListPage> {
    const isReachable = request.offset <= offsetMax;
    const found = await this.#find(
      isReachable ? this.#withoutVainCount(request) : { ...request, offset: 0, size: 1 },
    );
    if (isUnfiltered(request) && request.total === 'capped')
      this.#isBeyondCounting ||= found.total === undefined;
    if (page !== undefined && request.after === undefined && page > 1) assertWithin(request, found);
    if (!isReachable) throw unreachablePage();
    return found;
  }

  // Issues are never deleted, so once the unfiltered list exceeds `totalMax`, counting it again has no use.
  #withoutVainCount(request: IssueListRequest): IssueListRequest {
    const isVain = this.#isBeyondCounting && isUnfiltered(request) && request.total === 'capped';
    return isVain ? { ...request, total: 'none' } : request;
  }

  async #find(request: IssueListRequest): Promise<IssueListPage> {
    // If an issue changes between the two statements of a page, both run again in one snapshot.
    const page = (await this.#tryFind(request)) ?? (await this.#findInSnapshot(request));
    if (page === undefined) throw new Error('two statements of one snapshot saw different issues');
    return page;
  }

  #findInSnapshot(request: IssueListRequest): Promise<IssueListPage | undefined> {
    return this.#repository.inSnapshot((within) => this.#tryFind(request, within));
  }

  async #tryFind(request: IssueListRequest, within?: Transaction): Promise<IssueListPage | undefined> {
    const { issues, total } = await this.#repository.findPage(request, within);
    const summaries = await this.#summariesOf(issues.slice(0, request.size), request.fields, within);
    if (summaries === undefined) return undefined;
    const last = issues[summaries.length - 1];
    return {
      items: jsonArray(summaries.map(({ text }) => text)),
      end: issues.length > summaries.length ? endOf(request, last, summaries.at(-1)) : undefined,
      total,
    };
  }

  // Uses cached JSON texts whose revision is current and reads only the other issues: reading and serializing costs
  // three times as much as finding a page. Stops before the page exceeds `pageBytesMax`, but returns at least one
  // issue. Returns undefined if an issue has changed since the page was found, because it may no longer belong to the
  // page.
  async #summariesOf(
    listed: readonly ListedIssue[],
    fields: readonly IssueField[] | undefined,
    within?: Transaction,
  ): Promise<CachedSummary[] | undefined> {
    const known = new Map<string, CachedSummary>();
    for (const issue of listed) {
      const cached = this.#summaries.get(keyOf(issue.id, fields));
      if (cached !== undefined && isUnchanged(cached.revision, issue)) known.set(issue.id, cached);
    }
    const summaries: CachedSummary[] = [];
    let bytes = 0;
    for (const [place, issue] of listed.entries()) {
      if (!known.has(issue.id))
        await this.#present(listed.slice(place, place + this.#partSize), known, fields, within);
      const summary = known.get(issue.id);
      if (summary === undefined || !isUnchanged(summary.revision, issue)) return undefined;
      bytes += summary.bytes;
      if (summaries.length > 0 && bytes > pageBytesMax) break;
      summaries.push(summary);
    }
    return summaries;
  }

  async #present(
    part: readonly ListedIssue[],
    known: Map<string, CachedSummary>,
    fields: readonly IssueField[] | undefined,
    within?: Transaction,
  ) {
    const unknown = part.filter(({ id }) => !known.has(id)).map(({ id }) => id);
    let bytes = 0;
    for (const issue of await this.#repository.findIssues(unknown, fields, within)) {
      const summary = this.#summaryOf(issue, fields);
      this.#summaries.set(keyOf(issue.id, fields), summary);
      known.set(issue.id, summary);
      bytes += summary.bytes;
    }
    // Large issues end a page early. The next statement then reads only as many issues as fit.
    this.#partSize =
      bytes > pageBytesMax
        ? Math.max(1, Math.floor((unknown.length * pageBytesMax) / bytes))
        : Math.min(partMax, this.#partSize * 2);
  }

  #summaryOf(issue: IssueSnapshot, fields: readonly IssueField[] | undefined): CachedSummary {
    const text = jsonText(
      fields === undefined ? this.#presenter.summary(issue) : this.#presenter.sparse(issue, fields),
    );
    return {
      revision: revisionOf(issue),
      text,
      place: fields === undefined ? undefined : jsonText(this.#presenter.sparse(issue, sortFields)),
      bytes: Buffer.byteLength(text) + 1,
    };
  }
}

const sortFields = [...orderingFields, 'id'] as const;

// The key of a cached text. Issues with different members have separate texts.
function keyOf(id: string, fields: readonly IssueField[] | undefined): string {
  return fields === undefined ? id : `${id} ${fields.join()}`;
}

/** Maximum number of issues that one statement reads: 2 MB for issues of maximum size. */
const partMax = 50;

type ListedRevision = Omit<ListedIssue, 'id' | 'isSearched'>;

// Copies only the compared values, because the garbage collector traverses every object in the long-lived cache.
function revisionOf(issue: IssueSnapshot): ListedRevision {
  const { rev, labelRev, trackerRev, reporterName, assigneeName } = issue;
  return { rev, labelRev, trackerRev, reporterName, assigneeName };
}

function isUnchanged(left: ListedRevision, right: ListedRevision): boolean {
  return (
    left.rev === right.rev &&
    left.labelRev === right.labelRev &&
    left.trackerRev === right.trackerRev &&
    left.reporterName === right.reporterName &&
    left.assigneeName === right.assigneeName
  );
}

// The position after the issue with the searched number is an empty array: the list itself begins there.
function endOf(
  { sort }: IssueListRequest,
  listed: ListedIssue | undefined,
  summary: CachedSummary | undefined,
): readonly SortValue[] | undefined {
  if (listed?.isSearched) return [];
  if (summary === undefined) return undefined;
  const issue: IssueSummary = JSON.parse(summary.place ?? summary.text);
  return sort.map(({ field }) => issue[field]);
}

function isUnfiltered({ filters }: IssueListRequest): boolean {
  return Object.values(filters).every((filter) => filter === undefined);
}

function unreachablePage(): ProblemError {
  const message = `must begin within the first ${offsetMax} issues; follow next for further ones`;
  return validationProblem([{ field: 'page', message }]);
}

function assertWithin({ offset }: IssueListRequest, { total = 0 }: IssueListPage): void {
  if (offset < total) return;
  throw new ProblemError({ status: 404, code: 'invalid_page', detail: 'Invalid page.' });
}
