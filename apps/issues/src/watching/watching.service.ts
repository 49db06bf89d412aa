import type { IssueReference } from '../issue-core/issue-reference.ts';
import { found } from '../issues/issue.service.ts';
import type { WatchingRepository } from './watching.repository.ts';
import type { WatchedIssue, WatchedPage, WatchState } from './watching.ts';

/** Reads and changes whether a person watches an issue. Every active user may watch every issue. */
export class WatchingService {
  readonly #repository: WatchingRepository;

  constructor({ repository }: { repository: WatchingRepository }) {
    this.#repository = repository;
  }

  async find(reference: IssueReference, userId: string): Promise<WatchState> {
    return found(await this.#repository.find(reference, userId));
  }

  async set(reference: IssueReference, userId: string, isWatching: boolean): Promise<WatchState> {
    return found(await this.#repository.set(reference, userId, isWatching));
  }

  /** Returns the issues that a person watches, the last watched first. */
  async list(userId: string, page: WatchedPage): Promise<WatchedIssue[]> {
    return this.#repository.list(userId, page);
  }
}
