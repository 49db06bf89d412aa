import {
  type addComment,
  type deleteComment,
  type getComment,
  type listComments,
  type updateComment,
  uuid,
} from '@tessera/contracts';
import { type Call, cursorTime, type Handler, type Limit, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor } from '../issue-core/actor.ts';
import { commentResponse, createdCommentResponse, presentComment } from '../issue-core/comment.presenter.ts';
import type { Comment } from '../issue-core/comment.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { readIfMatch, unlessKnown } from '../issue-core/precondition.ts';
import type { CommentContext, CommentService } from './comment.service.ts';

interface CommentHandlersOptions {
  comments: CommentService;
  urls: IssueUrls;
  /** The quota of writes. */
  quota: Limit<Actor>;
}

const place = z.object({ createdAt: cursorTime, id: uuid() });

/** Handlers of comments (docs/spec/issue-tracking.md 4). All except adding one are additions to the specification. */
export function commentHandlers({ comments, urls, quota }: CommentHandlersOptions) {
  const add: OnceHandler<typeof addComment> = {
    issueOf: ({ actor, params }) => urls.parse(params, actor),
    prepare: async ({ actor, params, body, requestId }) => {
      const draft = await comments.draft(body.body);
      return async (transaction) => {
        const by = { actorId: actor.id, requestId };
        const created = await comments.create(urls.parse(params, actor), draft, by, transaction);
        return { resourceId: created.id, response: createdCommentResponse(created, urls) };
      };
    },
    present: async (id, { actor, params }) =>
      createdCommentResponse(await comments.find(urls.parse(params, actor), id), urls),
  };

  const list: Handler<typeof listComments, Actor> = async ({ actor, params, query }) => {
    const reference = urls.parse(params, actor);
    const { order = 'oldest' } = query;
    const url = urls.listOf(reference, 'comments', order);
    const page = readKeysetPage(query, { url, place, sizeDefault: 100 });
    const found = await comments.list(reference, { ...page, order });
    const item = (comment: Comment) => presentComment(comment, urls);
    return page.present(found, { item, place: ({ createdAt, id }) => ({ createdAt, id }) });
  };

  const get: Handler<typeof getComment, Actor> = async ({ actor, params, headers }) =>
    unlessKnown(
      headers,
      commentResponse(await comments.find(urls.parse(params, actor), params.comment_id), urls),
    );

  const contextOf = ({ actor, requestId, headers, response }: ChangingCall): CommentContext => ({
    actor,
    requestId,
    ifMatch: readIfMatch(headers['If-Match']),
    count: (text) => quota.body?.(actor, response, Buffer.byteLength(text)),
  });

  const update: Handler<typeof updateComment, Actor> = async (call) => {
    const { actor, params, body } = call;
    const context = contextOf(call);
    return commentResponse(
      await comments.update(urls.parse(params, actor), params.comment_id, body.body, context),
      urls,
    );
  };

  const remove: Handler<typeof deleteComment, Actor> = async (call) => {
    const { actor, params } = call;
    await comments.delete(urls.parse(params, actor), params.comment_id, contextOf(call));
    return { status: 204 };
  };

  return { add, list, get, update, remove };
}

type ChangingCall = Pick<
  Call<unknown, unknown, { 'If-Match'?: string | undefined }, unknown, Actor>,
  'actor' | 'requestId' | 'headers' | 'response'
>;
