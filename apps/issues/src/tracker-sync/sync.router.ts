import { parse, readBody } from '@tessera/service-kit';
import { Router } from 'express';
import { z } from 'zod';
import { sendAnswer } from '../answer.ts';
import { actorOf } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { claimOf } from '../idempotency/idempotency-key.ts';
import { presentIssue } from '../issues/issue.presenter.ts';
import { type IssueAddresses, issuePath } from '../issues/issue-address.ts';
import type { SyncService } from './sync.service.ts';

interface SyncRouterOptions {
  sync: SyncService;
  idempotency: IdempotencyService;
  addresses: IssueAddresses;
}

const body = readBody({ limitBytes: 256 * 1024 });
// issue-tracking.md 4: the request has no body; an empty object is none.
const bodySchema = z.object({}).optional();

/** issue-tracking.md 4: sync an issue with the external issue tracker. */
export function syncRouter({ sync, idempotency, addresses }: SyncRouterOptions): Router {
  const router = Router();

  router.post(`${issuePath}/sync`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const content = parse(bodySchema, request.body);
    const actor = actorOf(response);
    const claim = claimOf(request, actor, content ?? {});
    const answer = await idempotency.onceBeyond(claim, request.requestId ?? '', async () =>
      presentIssue(await sync.sync(actor, reference)),
    );
    sendAnswer(response, answer);
  });

  return router;
}
