import {
  type CountedField,
  countedAssigneesMax,
  countMax,
  type IssueCounts,
  type IssueField,
  type IssueSummary,
  issuePriorities,
  issueStatuses,
  orderingFields,
  type SparseIssue,
} from '@tessera/contracts';
import {
  type JsonText,
  jsonArray,
  jsonText,
  ProblemError,
  pageBytesMax,
  validationProblem,
} from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { IssuePresenter } from '../issue-core/issue.presenter.ts';
import type { IssueSnapshot } from '../issue-core/issue.ts';
import { presentPerson } from '../issue-core/person.ts';
import { shortHash } from '../issue-core/precondition.ts';
import { isWhole } from '../issue-core/project-access.ts';
import { createTextCache } from '../issue-core/text-cache.ts';
import type { IssueListRepository } from './issue-list.repository.ts';
import {
  type IssueListPage,
  type IssueListQuery,
  type IssueListRequest,
  type KnownPage,
  type ListedIssue,
  noDay,
  offsetMax,
  type SortValue,
} from './issue-list.ts';
import { isOlder, isUnchanged, type ListedRevision, markOf, revisionOf } from './listed-revision.ts';

interface IssueListServiceDependencies {
  repository: IssueListRepository;
  presenter: IssuePresenter;
}

/** The JSON text of an issue and the revision from which it was created. */
interface CachedSummary {
  revision: ListedRevision;
  /** A hash of the id and the revision, for the ETags of pages. */
  mark: string;
  text: JsonText<SparseIssue>;
  /** The values of all sort fields as JSON, if `text` may lack some. */
  place?: string | undefined;
  /** The size of the JSON text in bytes, including the following comma. */
  bytes: number;
}

/** Lists the issues that a reader sees. */
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

  /** `isKnown`: whether the client has the page with an ETag. Its issues are then not read. */
  find(query: IssueListQuery): Promise<IssueListPage>;
  find(query: IssueListQuery, isKnown: IsKnown | undefined): Promise<IssueListPage | KnownPage>;
  async find(
    { request, page, after }: IssueListQuery,
    isKnown?: IsKnown,
  ): Promise<IssueListPage | KnownPage> {
    const isReachable = request.offset <= offsetMax;
    const found = await this.#find(
      isReachable ? this.#withoutVainCount(request) : { ...request, offset: 0, size: 1 },
      after,
      isKnown,
    );
    if (isUnfiltered(request) && request.total === 'capped')
      this.#isBeyondCounting ||= found.total === undefined;
    if (page !== undefined && request.after === undefined && page > 1) assertWithin(request, found);
    if (!isReachable) throw unreachablePage();
    return found;
  }

  /** Counts the issues of a list by a member. `after`: a position of the database that the counts must see. */
  async count(
    counted: Pick<IssueListRequest, 'filters' | 'scope'>,
    by: CountedField,
    after?: string,
  ): Promise<IssueCounts> {
    const find = (within: Transaction) => this.#repository.count(counted, by, within);
    const rows = await this.#repository.read(find, { after });
    const found = rows.flatMap(({ count, ...row }) => (count === null ? [] : [{ count, ...row }]));
    const is_complete = rows.every(({ isComplete }) => isComplete) && found.length <= countedAssigneesMax;
    const of = <Value extends string>(values: readonly Value[]) =>
      values.map((value) => ({
        value,
        ...presentCount(found.find((row) => row.value === value)?.count ?? 0),
      }));
    if (by === 'status') return { by, counts: of(issueStatuses), is_complete };
    if (by === 'priority') return { by, counts: of(issuePriorities), is_complete };
    const counts = found.slice(0, countedAssigneesMax).map(({ value, names = null, count }) => ({
      value: presentPerson(value, names),
      ...presentCount(count),
    }));
    return { by, counts, is_complete };
  }

  // Issues are never deleted, so once the unfiltered list exceeds `totalMax`, counting it again has no use.
  #withoutVainCount(request: IssueListRequest): IssueListRequest {
    const isVain = this.#isBeyondCounting && isUnfiltered(request) && request.total === 'capped';
    return isVain ? { ...request, total: 'none' } : request;
  }

  async #find(
    request: IssueListRequest,
    after: string | undefined,
    isKnown: IsKnown | undefined,
  ): Promise<IssueListPage | KnownPage> {
    const find = (within: Transaction) => this.#tryFind(request, isKnown, within);
    // If an issue changes between the two statements of a page, both run again in one snapshot.
    const page =
      (await this.#repository.read(find, { after })) ??
      (await this.#repository.read(find, { after, isolationLevel: 'RepeatableRead' }));
    if (page === undefined) throw new Error('two statements of one snapshot saw different issues');
    return page;
  }

  async #tryFind(
    request: IssueListRequest,
    isKnown: IsKnown | undefined,
    within: Transaction,
  ): Promise<IssueListPage | KnownPage | undefined> {
    const { issues, total, isWhole, lookedUntil } = await this.#repository.findPage(request, within);
    const listed = issues.slice(0, request.size);
    const cached = this.#cachedOf(listed, request.fields);
    const isSearched = listed[0]?.isSearched ?? false;
    const marks = listed.map((issue) => cached.get(issue.id)?.mark ?? markOf(issue)).join('');
    const more = issues.length > listed.length || lookedUntil?.join();
    const etag = this.#etagOf(request, marks, total, isWhole, more, isSearched);
    if (isKnown?.(etag)) return { etag, items: undefined, end: undefined, total, isWhole };
    const summaries = await this.#summariesOf(listed, cached, request.fields, within);
    if (summaries === undefined) return undefined;
    const last = issues[summaries.length - 1];
    return {
      etag,
      items: jsonArray(summaries.map(({ text }) => text)),
      end: issues.length > summaries.length ? endOf(request, last, summaries.at(-1)) : lookedUntil,
      total,
      isWhole,
    };
  }

  // The revisions determine the texts of the issues, and with the total and the place of the next page, the whole
  // response to a URL. The members are part of it for clients that reuse an ETag after they request further members. The
  // ETag is weak because it is not a hash of the bytes, so it is the same for each content coding (RFC 9110 8.8.1).
  #etagOf(
    { fields, total: kind }: IssueListRequest,
    ...content: [
      marks: string,
      total: number | undefined,
      isWhole: boolean,
      more: boolean | string | undefined,
      isSearched: boolean,
    ]
  ): string {
    return `W/"${shortHash([this.#presenter.fingerprint, fields, kind, ...content].join(' '))}"`;
  }

  // Returns the cached JSON texts whose revision is current. The others are read later: reading and serializing costs three
  // times as much as finding a page.
  #cachedOf(listed: readonly ListedIssue[], fields: readonly IssueField[] | undefined) {
    const current = new Map<string, CachedSummary>();
    for (const issue of listed) {
      const cached = this.#summaries.get(keyOf(issue.id, fields));
      if (cached !== undefined && isUnchanged(cached.revision, issue)) current.set(issue.id, cached);
    }
    return current;
  }

  // Reads the issues that are not cached, and adds them to `known`. Stops before the page exceeds `pageBytesMax`, but
  // returns at least one issue. Returns undefined if an issue has changed since the page was found, because it may no
  // longer belong to the page.
  async #summariesOf(
    listed: readonly ListedIssue[],
    known: Map<string, CachedSummary>,
    fields: readonly IssueField[] | undefined,
    within: Transaction,
  ): Promise<CachedSummary[] | undefined> {
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
    within: Transaction,
  ) {
    const unknown = new Map(part.filter(({ id }) => !known.has(id)).map((listed) => [listed.id, listed]));
    let bytes = 0;
    for (const issue of await this.#repository.findIssues([...unknown.keys()], fields, within)) {
      const summary = this.#summaryOf({ ...issue, isBlocked: unknown.get(issue.id)?.isBlocked }, fields);
      this.#keep(keyOf(issue.id, fields), summary);
      known.set(issue.id, summary);
      bytes += summary.bytes;
    }
    // Large issues end a page early. The next statement then reads only as many issues as fit.
    this.#partSize =
      bytes > pageBytesMax
        ? Math.max(1, Math.floor((unknown.size * pageBytesMax) / bytes))
        : Math.min(partMax, this.#partSize * 2);
  }

  // A standby, or an earlier statement, may show an older issue than the cache has.
  #keep(key: string, summary: CachedSummary): void {
    const kept = this.#summaries.peek(key);
    if (kept === undefined || !isOlder(summary.revision, kept.revision)) this.#summaries.set(key, summary);
  }

  #summaryOf(issue: IssueSnapshot, fields: readonly IssueField[] | undefined): CachedSummary {
    const text = jsonText(
      fields === undefined ? this.#presenter.summary(issue) : this.#presenter.sparse(issue, fields),
    );
    return {
      revision: revisionOf(issue),
      mark: markOf(issue),
      text,
      place: fields === undefined ? undefined : jsonText(this.#presenter.sparse(issue, sortFields)),
      bytes: Buffer.byteLength(text) + 1,
    };
  }
}

function presentCount(count: number) {
  return { count: Math.min(count, countMax), is_capped: count > countMax };
}

const sortFields = [...orderingFields, 'id'] as const;

// The key of a cached text. Issues with different members have separate texts.
function keyOf(id: string, fields: readonly IssueField[] | undefined): string {
  return fields === undefined ? id : `${id} ${fields.join()}`;
}

/** Whether the client has the response with an ETag. */
type IsKnown = (etag: string) => boolean;

/** Maximum number of issues that one statement reads: 2 MB for issues of maximum size. */
const partMax = 50;

// The position after the issue with the searched number is an empty array: the list itself begins there.
function endOf(
  { sort }: IssueListRequest,
  listed: ListedIssue | undefined,
  summary: CachedSummary | undefined,
): readonly SortValue[] | undefined {
  if (listed?.isSearched) return [];
  if (summary === undefined) return undefined;
  const issue: IssueSummary = JSON.parse(summary.place ?? summary.text);
  return sort.map(({ field }) => issue[field] ?? noDay);
}

function isUnfiltered({ filters, scope }: IssueListRequest): boolean {
  return isWhole(scope) && Object.values(filters).every((filter) => filter === undefined);
}

function unreachablePage(): ProblemError {
  const message = `must begin after at most ${offsetMax} issues; follow next for further ones`;
  return validationProblem([{ field: 'page', message }]);
}

function assertWithin({ offset }: IssueListRequest, { total = 0 }: Pick<IssueListPage, 'total'>): void {
  if (offset < total) return;
  throw new ProblemError({ status: 404, code: 'invalid_page', detail: 'Invalid page.' });
}
