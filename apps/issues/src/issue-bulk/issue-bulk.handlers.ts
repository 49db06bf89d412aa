import type { changeIssues } from '@tessera/contracts';
import { type Handler, jsonText } from '@tessera/service-kit';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { idempotencyRequest } from '../idempotency/idempotency-request.ts';
import type { Actor } from '../issue-core/actor.ts';
import { parseIssueReference } from '../issue-core/issue-reference.ts';
import type { IssueUrls } from '../issue-core/issue-urls.ts';
import type { WriteQuota } from '../rate-limit/limit-rate.ts';
import type { IssueBulkService } from './issue-bulk.service.ts';

interface IssueBulkHandlersOptions {
  bulk: IssueBulkService;
  idempotency: IdempotencyService;
  urls: IssueUrls;
  quota: WriteQuota;
}

/** Handler of changes of many issues. An addition to the specification. */
export function issueBulkHandlers({ bulk, idempotency, urls, quota }: IssueBulkHandlersOptions) {
  const change: Handler<typeof changeIssues, Actor> = async (call) => {
    const { actor, body, requestId, response } = call;
    const references = body.ids.map((id, place) => parseIssueReference(id, urls.keyPrefix, `ids.${place}`));
    await quota.countFurther(actor, response, references.length - 1);
    return idempotency.once(idempotencyRequest(call, body), requestId, {
      prepare: async () => {
        const wanted = await bulk.resolve(actor, body);
        return async (transaction) => {
          const outcomes = await bulk.change(actor, references, wanted, requestId, transaction);
          const results = outcomes.map((outcome, place) => ({ id: body.ids[place] ?? '', ...outcome }));
          return { resourceId: null, response: { status: 200, body: jsonText({ results }) } };
        };
      },
    });
  };

  return { change };
}
