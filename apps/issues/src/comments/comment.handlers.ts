import { type addComment, type getComment, type listComments, uuid } from '@tessera/contracts';
import { cursorTime, type Handler, readKeysetPage } from '@tessera/service-kit';
import { z } from 'zod';
import type { Actor } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { idempotencyRequest } from '../idempotency/idempotency-request.ts';
import type { IssueUrls } from '../issues/issue-urls.ts';
import { presentComment, presentCreatedComment } from './comment.presenter.ts';
import type { CommentService } from './comment.service.ts';

interface CommentHandlersOptions {
  comments: CommentService;
  idempotency: IdempotencyService;
  urls: IssueUrls;
}

const place = z.object({ createdAt: cursorTime, id: uuid() });

/** Handlers of comments (issue-tracking.md 4). The paged list is an addition to the specification. */
export function commentHandlers({ comments, idempotency, urls }: CommentHandlersOptions) {
  const add: Handler<typeof addComment, Actor> = async (call) => {
    const { actor, params, body, requestId } = call;
    const reference = urls.parse(params);
    const by = { actorId: actor.id, requestId };
    return idempotency.once(idempotencyRequest(call, body, reference), requestId, {
      prepare: () => async (transaction) => {
        const created = await comments.create(reference, body.body, by, transaction);
        return { resourceId: created.id, response: presentCreatedComment(created, urls) };
      },
      present: async (id) => presentCreatedComment(await comments.find(reference, id), urls),
    });
  };

  const list: Handler<typeof listComments, Actor> = async ({ params, query }) => {
    const reference = urls.parse(params);
    const { order = 'oldest' } = query;
    const url = urls.listOf(reference, 'comments', order);
    const page = readKeysetPage(query, { url, place, sizeDefault: 100 });
    const found = await comments.list(reference, { ...page, order });
    return page.present(found, { item: presentComment, place: ({ createdAt, id }) => ({ createdAt, id }) });
  };

  const get: Handler<typeof getComment, Actor> = async ({ params }) => {
    const comment = await comments.find(urls.parse(params), params.comment_id);
    return { status: 200, body: presentComment(comment) };
  };

  return { add, list, get };
}
