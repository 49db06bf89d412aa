import { changeStatusSchema, createIssueSchema, updateIssueSchema } from '@tessera/contracts';
import { parse, readBody, sendAnswer } from '@tessera/service-kit';
import { type Request, type RequestHandler, Router } from 'express';
import { actorOf } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { claimOf } from '../idempotency/idempotency-key.ts';
import { presentCreatedIssue, presentIssue, readIssueEdit, readNewIssue } from './issue.presenter.ts';
import type { IssueService } from './issue.service.ts';
import { type IssueAddresses, issuePath, issuesPath } from './issue-address.ts';
import { issueMetadata } from './issue-metadata.ts';
import type { IssueReads } from './issue-reads.ts';
import type { IssueStatusService } from './issue-status.service.ts';
import type { Precondition } from './precondition.ts';

interface IssueRouterOptions {
  reads: IssueReads;
  issues: IssueService;
  statuses: IssueStatusService;
  idempotency: IdempotencyService;
  addresses: IssueAddresses;
}

const body = readBody({ limitBytes: 256 * 1024 });

/** issue-tracking.md 4 */
export function issueRouter(options: IssueRouterOptions): Router {
  const { reads, issues, statuses, idempotency, addresses } = options;
  const router = Router();

  router.get(issuesPath, (request, response) => reads.list(request, response));

  router.options(issuesPath, (_request, response) => {
    response.set('Allow', 'GET, HEAD, OPTIONS, POST').json(issueMetadata);
  });

  router.post(issuesPath, body, async (request, response) => {
    const input = parse(createIssueSchema, request.body);
    const actor = actorOf(response);
    const { requestId = '' } = request;
    const answer = await idempotency.once(claimOf(request, actor, input), requestId, async () => {
      const issue = await issues.resolve(actor, readNewIssue(input));
      return async (transaction) => {
        const created = await issues.create(issue, { actorId: actor.id, requestId }, transaction);
        return presentCreatedIssue(created, addresses);
      };
    });
    sendAnswer(response, answer);
  });

  router.get(issuePath, (request, response) => reads.get(request, response, String(request.params.id)));

  const update: RequestHandler = async (request, response) => {
    const reference = addresses.parse(request.params);
    const input = parse(updateIssueSchema, request.body);
    const { requestId = '' } = request;
    const updated = await issues.update(actorOf(response), reference, readIssueEdit(input), {
      precondition: preconditionOf(request, input),
      requestId,
    });
    sendAnswer(response, presentIssue(updated));
  };
  router.put(issuePath, body, update);
  router.patch(issuePath, body, update);

  router.post(`${issuePath}/status`, body, async (request, response) => {
    const reference = addresses.parse(request.params);
    const input = parse(changeStatusSchema, request.body);
    const actor = actorOf(response);
    const { requestId = '' } = request;
    const wanted = {
      status: input.status,
      comment: input.comment ?? null,
      precondition: preconditionOf(request, input),
      requestId,
    };
    const answer = await idempotency.once(
      claimOf(request, actor, input),
      requestId,
      () => async (transaction) => presentIssue(await statuses.change(actor, reference, wanted, transaction)),
    );
    sendAnswer(response, answer);
  });

  return router;
}

function preconditionOf(request: Request, input: { version?: number | null | undefined }): Precondition {
  return { ifMatch: request.get('if-match'), version: input.version ?? undefined };
}
