import type { IssueSummary } from '@tessera/contracts';
import { type JsonText, jsonArray, jsonText, ProblemError, pageBytesMax } from '@tessera/service-kit';
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
  type SortedIssue,
  type SortValue,
  sortValueOf,
} from './issue-list.ts';

interface IssueListServiceDependencies {
  repository: IssueListRepository;
  presenter: IssuePresenter;
}

/** A presented issue, and what it was presented from. */
interface CachedSummary {
  issue: ListedIssue & SortedIssue;
  text: JsonText<IssueSummary>;
  /** With the comma that follows. */
  bytes: number;
}

/** Lists of issues. Every active user may read every issue. */
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
    const found = await this.#find(this.#withoutVainCount(request));
    if (isUnfiltered(request) && request.total === 'capped')
      this.#isBeyondCounting ||= found.total === undefined;
    if (page !== undefined && request.after === undefined && page > 1) assertWithin(request, found);
    return found;
  }

  // Issues are never deleted: more than are counted once are more for ever, and the most frequent list need not count.
  #withoutVainCount(request: IssueListRequest): IssueListRequest {
    const isVain = this.#isBeyondCounting && isUnfiltered(request) && request.total === 'capped';
    return isVain ? { ...request, total: 'none' } : request;
  }

  async #find(request: IssueListRequest): Promise<IssueListPage> {
    // Where an issue changes between the two statements of a page, the page is found again in one snapshot.
    const page = (await this.#tryFind(request)) ?? (await this.#findInSnapshot(request));
    if (page === undefined) throw new Error('two statements of one snapshot saw different issues');
    return page;
  }

  #findInSnapshot(request: IssueListRequest): Promise<IssueListPage | undefined> {
    return this.#repository.inSnapshot((within) => this.#tryFind(request, within));
  }

  async #tryFind(request: IssueListRequest, within?: Transaction): Promise<IssueListPage | undefined> {
    const { issues, total } = await this.#repository.findPage(request, within);
    const summaries = await this.#summariesOf(issues.slice(0, request.size), within);
    if (summaries === undefined) return undefined;
    const last = issues[summaries.length - 1];
    return {
      items: jsonArray(summaries.map(({ text }) => text)),
      end: issues.length > summaries.length ? endOf(request, last, summaries.at(-1)) : undefined,
      total,
    };
  }

  // Finding a page costs a third of reading and presenting its issues: those that this process has presented are
  // presented again only where something that they show has changed. Ends early where the page has `pageBytesMax`.
  // Undefined where an issue has changed since it was listed: it may not belong to the page any more.
  async #summariesOf(
    listed: readonly ListedIssue[],
    within?: Transaction,
  ): Promise<CachedSummary[] | undefined> {
    const known = new Map<string, CachedSummary>();
    for (const issue of listed) {
      const cached = this.#summaries.get(issue.id);
      if (cached !== undefined && isUnchanged(cached.issue, issue)) known.set(issue.id, cached);
    }
    const summaries: CachedSummary[] = [];
    let bytes = 0;
    for (const [place, issue] of listed.entries()) {
      if (!known.has(issue.id))
        await this.#present(listed.slice(place, place + this.#partSize), known, within);
      const summary = known.get(issue.id);
      if (summary === undefined || !isUnchanged(summary.issue, issue)) return undefined;
      bytes += summary.bytes;
      if (summaries.length > 0 && bytes > pageBytesMax) break;
      summaries.push(summary);
    }
    return summaries;
  }

  async #present(part: readonly ListedIssue[], known: Map<string, CachedSummary>, within?: Transaction) {
    const unknown = part.filter(({ id }) => !known.has(id)).map(({ id }) => id);
    let bytes = 0;
    for (const issue of await this.#repository.findIssues(unknown, within)) {
      const text = jsonText(this.#presenter.summary(issue));
      const summary = { issue: essenceOf(issue), text, bytes: Buffer.byteLength(text) + 1 };
      this.#summaries.set(issue.id, summary);
      known.set(issue.id, summary);
      bytes += summary.bytes;
    }
    // Large issues end the page early: the next statement reads no more than a page shows of such issues.
    this.#partSize =
      bytes > pageBytesMax
        ? Math.max(1, Math.floor((unknown.length * pageBytesMax) / bytes))
        : Math.min(partMax, this.#partSize * 2);
  }
}

/** Issues that one statement reads: 2 MB if they are as large as can be. */
const partMax = 50;

// Leaves out the long values.
function essenceOf(issue: IssueSnapshot): ListedIssue & SortedIssue {
  const { description, links, comments, conflicts, ...essence } = issue;
  return essence;
}

function isUnchanged(left: ListedIssue, right: ListedIssue): boolean {
  return (
    left.rev === right.rev &&
    left.trackerRev === right.trackerRev &&
    left.reporterName === right.reporterName &&
    left.assigneeName === right.assigneeName
  );
}

// After the issue whose number was searched for, the list begins.
function endOf(
  { sort }: IssueListRequest,
  listed: ListedIssue | undefined,
  summary: CachedSummary | undefined,
): readonly SortValue[] | undefined {
  if (listed?.isSearched) return [];
  return summary === undefined ? undefined : sort.map(({ field }) => sortValueOf(summary.issue, field));
}

function isUnfiltered({ filters }: IssueListRequest): boolean {
  return Object.values(filters).every((filter) => filter === undefined);
}

function assertWithin({ offset }: IssueListRequest, { total = 0 }: IssueListPage): void {
  if (offset < total) return;
  throw new ProblemError({ status: 404, code: 'invalid_page', detail: 'Invalid page.' });
}
