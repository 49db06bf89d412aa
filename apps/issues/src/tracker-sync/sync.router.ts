import { attachExternalSchema, resolveConflictSchema, uuid } from '@tessera/contracts';
import { parse, readBody, sendAnswer } from '@tessera/service-kit';
import { Router } from 'express';
import { z } from 'zod';
import { actorOf } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { claimOf } from '../idempotency/idempotency-key.ts';
import { presentIssue } from '../issues/issue.presenter.ts';
import { type IssueAddresses, issuePath } from '../issues/issue-address.ts';
import type { SyncService } from './sync.service.ts';
import type { SyncBindingService } from './sync-binding.service.ts';

interface SyncRouterOptions {
  sync: SyncService;
  bindings: SyncBindingService;
  idempotency: IdempotencyService;
  addresses: IssueAddresses;
}

const body = readBody({ limitBytes: 256 * 1024 });
// issue-tracking.md 4: the request has no body; an empty object is none.
const bodySchema = z.object({}).optional();
const paramsSchema = z.object({ conflict_id: uuid() });

/** issue-tracking.md 4: sync an issue with the external issue tracker; what staff set right about it is an addition. */
export function syncRouter({ sync, bindings, idempotency, addresses }: SyncRouterOptions): Router {
  const router = Router();

  router.post(`${issuePath}/sync`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const content = parse(bodySchema, request.body);
    const actor = actorOf(response);
    const requestId = request.requestId ?? '';
    const claim = claimOf(request, actor, content ?? {});
    const answer = await idempotency.onceBeyond(claim, requestId, async () =>
      presentIssue(await sync.sync(actor, reference, requestId)),
    );
    sendAnswer(response, answer);
  });

  router.post(`${issuePath}/sync/conflicts/:conflictId`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const { conflict_id: conflictId } = parse(paramsSchema, { conflict_id: request.params.conflictId });
    const { keep } = parse(resolveConflictSchema, request.body);
    const decision = { keep, requestId: request.requestId ?? '' };
    const issue = await bindings.resolve(actorOf(response), reference, conflictId, decision);
    sendAnswer(response, presentIssue(issue));
  });

  router.put(`${issuePath}/external`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const { id } = parse(attachExternalSchema, request.body);
    sendAnswer(response, presentIssue(await bindings.attach(actorOf(response), reference, id)));
  });

  router.delete(`${issuePath}/external`, async (request, response) => {
    const reference = addresses.parse(request.params);
    sendAnswer(response, presentIssue(await bindings.detach(actorOf(response), reference)));
  });

  return router;
}
