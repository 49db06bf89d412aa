import { ProblemError } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import { found } from '../issues/issue.service.ts';
import type { ChangedBy } from '../issues/issue.ts';
import type { IssueReference } from '../issues/issue-reference.ts';
import type { CommentPage, CommentRepository } from './comment.repository.ts';
import type { Comment } from './comment.ts';

/** Reads and adds comments. Every active user may do both, also on a closed issue. */
export class CommentService {
  readonly #repository: CommentRepository;

  constructor({ repository }: { repository: CommentRepository }) {
    this.#repository = repository;
  }

  async create(
    reference: IssueReference,
    body: string,
    by: ChangedBy,
    within?: Transaction,
  ): Promise<Comment> {
    return found(await this.#repository.create(reference, body, by, within));
  }

  async find(reference: IssueReference, id: string): Promise<Comment> {
    const comment = await this.#repository.find(reference, id);
    if (comment !== undefined) return comment;
    throw new ProblemError({ status: 404, code: 'comment_not_found', detail: 'There is no such comment.' });
  }

  /** Returns a page of the comments of an issue. Throws a 404 problem if the issue does not exist. */
  async list(reference: IssueReference, page: CommentPage): Promise<Comment[]> {
    return found(await this.#repository.list(reference, page));
  }
}
