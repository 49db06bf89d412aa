import { ProblemError } from '@tessera/service-kit';
import type { Transaction } from '../database.ts';
import type { Actor } from '../issue-core/actor.ts';
import { type Comment, type CommentDraft, stateOf } from '../issue-core/comment.ts';
import type { ChangedBy } from '../issue-core/issue.ts';
import { assertMayChangeComment, assertMayDelete } from '../issue-core/issue-access.ts';
import { assertFound, type IssueReference } from '../issue-core/issue-reference.ts';
import { assertState } from '../issue-core/precondition.ts';
import type { CommentPage, IssueReader } from '../issue-store/read.ts';
import type { IssueWriter } from '../issue-store/write.ts';

interface CommentServiceDependencies {
  reader: IssueReader;
  writer: IssueWriter;
  mentions: { resolve(text: string): Promise<string[]> };
}

/** The conditions of a change of a comment. */
export interface CommentContext {
  actor: Actor;
  requestId: string;
  ifMatch: string | undefined;
  /**
   * Counts the old text, which the history keeps, towards the quota of the actor. Throws a 429 problem. A change that meets
   * another one counts twice.
   */
  count: (text: string) => void | Promise<void>;
}

/** Reads and writes comments. Who may read an issue may read and add them, also on a closed issue. */
export class CommentService {
  readonly #reader: IssueReader;
  readonly #writer: IssueWriter;
  readonly #mentions: CommentServiceDependencies['mentions'];

  constructor({ reader, writer, mentions }: CommentServiceDependencies) {
    this.#reader = reader;
    this.#writer = writer;
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
    return assertFound(await this.#writer.addComment(reference, draft, by, within));
  }

  async find(reference: IssueReference, id: string): Promise<Comment> {
    return assertFoundComment(await this.#reader.findComment(reference, id));
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
    const changed = await this.#writer.changeComment(reference, id, by, async (comment) => {
      if (comment.deletedAt !== null) throw commentNotFound();
      if (comment.origin !== 'local') throw externalComment(comment.origin);
      assertMayChangeComment(actor, comment.authorId);
      assertState(ifMatch, stateOf(comment), 'comment');
      if (comment.body === body) return undefined;
      await count(comment.body);
      return { kind: 'changed', id, before: comment, draft };
    });
    return assertFoundComment(changed);
  }

  /** Deletes a comment. A request for a deleted comment succeeds without a change, so that a client can retry. */
  async delete(
    reference: IssueReference,
    id: string,
    { actor, requestId, ifMatch, count }: CommentContext,
  ): Promise<void> {
    const by = { actorId: actor.id, requestId };
    const changed = await this.#writer.changeComment(reference, id, by, async (comment) => {
      assertMayDelete(actor, comment.authorId, comment.projectId);
      if (comment.deletedAt !== null) return undefined;
      assertState(ifMatch, stateOf(comment), 'comment');
      await count(comment.body);
      return { kind: 'removed', id, before: comment };
    });
    assertFoundComment(changed);
  }

  /** Returns a page of the comments of an issue. Throws a 404 problem if the issue does not exist. */
  async list(reference: IssueReference, page: CommentPage): Promise<Comment[]> {
    return assertFound(await this.#reader.listComments(reference, page));
  }
}

function assertFoundComment(comment: Comment | undefined): Comment {
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
