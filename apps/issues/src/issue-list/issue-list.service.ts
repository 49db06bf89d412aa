import { ProblemError } from '@tessera/service-kit';
import type { IssueListQuery } from './issue-list.query.ts';
import type { IssueListRepository } from './issue-list.repository.ts';
import type { IssueListPage, IssueListRequest } from './issue-list.ts';

/** Lists of issues: everybody may read every issue. */
export class IssueListService {
  readonly #repository: IssueListRepository;
  #isBeyondCounting = false;

  constructor({ repository }: { repository: IssueListRepository }) {
    this.#repository = repository;
  }

  async find({ request, page }: IssueListQuery): Promise<IssueListPage> {
    const found = await this.#repository.findPage(this.#withoutVainCount(request));
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
}

function isUnfiltered({ filters }: IssueListRequest): boolean {
  return Object.values(filters).every((filter) => filter === undefined);
}

function assertWithin({ offset }: IssueListRequest, { total = 0 }: IssueListPage): void {
  if (offset < total) return;
  throw new ProblemError({ status: 404, code: 'invalid_page', detail: 'Invalid page.' });
}
