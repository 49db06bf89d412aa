import { ProblemError } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import { type Comment, type CommentDraft, stateOf } from '../issue-core/comment.ts';
import type { ChangedBy } from '../issue-core/issue.ts';
import { assertMayChangeComment, assertMayDeleteComment } from '../issue-core/issue-access.ts';
import type { IssueReference } from '../issue-core/issue-reference.ts';
import { assertState } from '../issue-core/precondition.ts';
import type { CommentPage, CommentRepository } from '../issue-store/comment.repository.ts';
import { found } from '../issues/issue.service.ts';
import type { MentionResolver } from '../mentions/mention-resolver.ts';

interface CommentServiceDependencies {
  repository: CommentRepository;
  mentions: Pick<MentionResolver, 'resolve'>;
}

/** The conditions of a change of a comment. */
export interface CommentContext {
  actor: Actor;
  requestId: string;
  ifMatch: string | undefined;
  /** Counts the old text, which the history keeps, towards the quota of the actor. Throws a 429 problem. */
  count: (text: string) => void | Promise<void>;
}

/** Reads and writes comments. Every active user may read and add them, also on a closed issue. */
export class CommentService {
  readonly #repository: CommentRepository;
  readonly #mentions: Pick<MentionResolver, 'resolve'>;

  constructor({ repository, mentions }: CommentServiceDependencies) {
    this.#repository = repository;
    this.#mentions = mentions;
  }

  /** Finds the people that a text mentions. */
  async draft(body: string): Promise<CommentDraft> {
    return { body, mentionIds: await this.#mentions.resolve(body) };
  }

  async create(
    reference: IssueReference,
    draft: CommentDraft,
    by: ChangedBy,
    within?: Transaction,
  ): Promise<Comment> {
    return found(await this.#repository.create(reference, draft, by, within));
  }

  async find(reference: IssueReference, id: string): Promise<Comment> {
    return foundComment(await this.#repository.find(reference, id));
  }

  /** Changes the text of a comment. An equal text changes nothing. */
  async update(
    reference: IssueReference,
    id: string,
    body: string,
    { actor, requestId, ifMatch, count }: CommentContext,
  ): Promise<Comment> {
    const by = { actorId: actor.id, requestId };
    const draft = await this.draft(body);
    const changed = await this.#repository.change(reference, id, by, async (comment) => {
      if (comment.deletedAt !== null) throw commentNotFound();
      if (comment.origin !== 'local') throw externalComment(comment.origin);
      assertMayChangeComment(actor, comment.authorId);
      assertState(ifMatch, stateOf(comment), 'comment');
      if (comment.body === body) return undefined;
      await count(comment.body);
      const [old, after] = [comment.body, body].map((text) => ({ comment_id: comment.id, body: text }));
      return { draft, activity: { kind: 'comment_changed', old, new: after } };
    });
    return foundComment(changed);
  }

  /** Deletes a comment. A request for a deleted comment succeeds without a change, so that a client can retry. */
  async delete(
    reference: IssueReference,
    id: string,
    { actor, requestId, ifMatch, count }: CommentContext,
  ): Promise<void> {
    const by = { actorId: actor.id, requestId };
    const changed = await this.#repository.change(reference, id, by, async (comment) => {
      assertMayDeleteComment(actor, comment.authorId);
      if (comment.deletedAt !== null) return undefined;
      assertState(ifMatch, stateOf(comment), 'comment');
      await count(comment.body);
      const old = { comment_id: comment.id, body: comment.body };
      return { draft: null, activity: { kind: 'comment_removed', old } };
    });
    foundComment(changed);
  }

  /** Returns a page of the comments of an issue. Throws a 404 problem if the issue does not exist. */
  async list(reference: IssueReference, page: CommentPage): Promise<Comment[]> {
    return found(await this.#repository.list(reference, page));
  }
}

function foundComment(comment: Comment | undefined): Comment {
  if (comment !== undefined) return comment;
  throw commentNotFound();
}

function commentNotFound(): ProblemError {
  return new ProblemError({ status: 404, code: 'comment_not_found', detail: 'There is no such comment.' });
}

function externalComment(origin: string): ProblemError {
  const detail = `This comment is from the external tracker (${origin}) and can only be changed there.`;
  return new ProblemError({ status: 409, code: 'external_comment', detail });
}
