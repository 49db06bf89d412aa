import { changeStatusSchema, updateIssueSchema } from '@tessera/contracts';
import { parse, sendAnswer } from '@tessera/service-kit';
import { type Request, type RequestHandler, Router } from 'express';
import { actorOf } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { claimOf } from '../idempotency/idempotency-key.ts';
import type { IssueStatusService } from '../issue-status/issue-status.service.ts';
import { type IssueEndpoints, issueBody } from './issue.endpoints.ts';
import { presentIssue, readIssueEdit } from './issue.presenter.ts';
import type { IssueService } from './issue.service.ts';
import { type IssueAddresses, issuePath, issuesPath } from './issue-address.ts';
import { issueMetadata } from './issue-metadata.ts';
import type { Precondition } from './precondition.ts';

interface IssueRouterOptions {
  endpoints: IssueEndpoints;
  issues: IssueService;
  statuses: IssueStatusService;
  idempotency: IdempotencyService;
  addresses: IssueAddresses;
}

/** issue-tracking.md 4 */
export function issueRouter(options: IssueRouterOptions): Router {
  const { endpoints, issues, statuses, idempotency, addresses } = options;
  const router = Router();

  router.get(issuesPath, (request, response) => endpoints.list(request, response));

  router.options(issuesPath, (_request, response) => {
    response.set('Allow', 'GET, HEAD, OPTIONS, POST').json(issueMetadata);
  });

  router.post(issuesPath, issueBody, (request, response) => endpoints.create(request, response));

  router.get(issuePath, (request, response) => endpoints.get(request, response, String(request.params.id)));

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
  router.put(issuePath, issueBody, update);
  router.patch(issuePath, issueBody, update);

  router.post(`${issuePath}/status`, issueBody, async (request, response) => {
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
