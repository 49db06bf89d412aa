import { createCommentSchema, uuid } from '@tessera/contracts';
import { parse, readBody, sendAnswer } from '@tessera/service-kit';
import { Router } from 'express';
import { z } from 'zod';
import { actorOf } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { claimOf } from '../idempotency/idempotency-key.ts';
import { type IssueAddresses, issuePath } from '../issues/issue-address.ts';
import type { SortKey } from '../paging/cursor.ts';
import { readKeysetPage } from '../paging/keyset-page.ts';
import { presentComment, presentCreatedComment } from './comment.presenter.ts';
import type { CommentService } from './comment.service.ts';

interface CommentRouterOptions {
  comments: CommentService;
  idempotency: IdempotencyService;
  addresses: IssueAddresses;
}

const body = readBody({ limitBytes: 256 * 1024 });
const paramsSchema = z.object({ comment_id: uuid() });
const oldestFirst: SortKey[] = [
  { field: 'created_at', descending: false },
  { field: 'id', descending: false },
];

/** issue-tracking.md 4: add a comment; reading them page by page is an addition. */
export function commentRouter({ comments, idempotency, addresses }: CommentRouterOptions): Router {
  const router = Router();

  router.post(`${issuePath}/comments`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const comment = parse(createCommentSchema, request.body);
    const actor = actorOf(response);
    const requestId = request.requestId ?? '';
    const by = { actorId: actor.id, requestId };
    const answer = await idempotency.once(
      claimOf(request, actor, comment),
      requestId,
      () => async (transaction) => {
        const created = await comments.create(reference, comment.body, by, transaction);
        return presentCreatedComment(created, addresses);
      },
    );
    sendAnswer(response, answer);
  });

  router.get(`${issuePath}/comments`, async (request, response) => {
    const reference = addresses.parse(request.params);
    const address = addresses.of(String(request.params.id), 'comments');
    const page = readKeysetPage(request.query, address, oldestFirst);
    const found = await comments.list(reference, { size: page.size, after: placeOf(page.after) });
    const end = found.end === undefined ? undefined : [found.end.createdAt, found.end.id];
    sendAnswer(response, page.present(found.comments.map(presentComment), end));
  });

  router.get(`${issuePath}/comments/:commentId`, async (request, response) => {
    const reference = addresses.parse(request.params);
    const { comment_id: commentId } = parse(paramsSchema, { comment_id: request.params.commentId });
    const comment = await comments.find(reference, commentId);
    sendAnswer(response, { status: 200, headers: {}, body: JSON.stringify(presentComment(comment)) });
  });

  return router;
}

function placeOf(values: readonly (string | number)[] | undefined) {
  const [createdAt, id] = values ?? [];
  return createdAt === undefined ? undefined : { createdAt: String(createdAt), id: String(id) };
}
