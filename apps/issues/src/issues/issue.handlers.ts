import type {
  changeIssueStatus,
  createIssue,
  describeIssues,
  getIssue,
  updateIssue,
} from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { CommentService } from '../comments/comment.service.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { idempotencyRequest } from '../idempotency/idempotency-request.ts';
import type { Actor } from '../issue-core/actor.ts';
import {
  createdIssueResponse,
  type IssuePresenter,
  issueResponse,
  readIssueEdit,
  readNewIssue,
} from '../issue-core/issue.presenter.ts';
import type { IssueUrls } from '../issue-core/issue-urls.ts';
import { isKnown, readIfMatch } from '../issue-core/precondition.ts';
import type { IssueService } from './issue.service.ts';
import { issueMetadata } from './issue-metadata.ts';
import type { IssueStatusService } from './issue-status.service.ts';

interface IssueHandlersOptions {
  issues: IssueService;
  statuses: IssueStatusService;
  comments: Pick<CommentService, 'draft'>;
  presenter: IssuePresenter;
  idempotency: IdempotencyService;
  urls: IssueUrls;
}

/** Handlers of issues (issue-tracking.md 4). */
export function issueHandlers({
  issues,
  statuses,
  comments,
  presenter,
  idempotency,
  urls,
}: IssueHandlersOptions) {
  const get: Handler<typeof getIssue, Actor> = async ({ params, headers }) => {
    const { headers: shown, body } = issueResponse(await issues.find(urls.parse(params)));
    const responseHeaders = { ...shown, 'Cache-Control': 'private, no-cache' };
    const known = headers['If-None-Match'];
    return known !== undefined && isKnown(known, shown.ETag)
      ? { status: 304, headers: responseHeaders }
      : { status: 200, headers: responseHeaders, body };
  };

  const create: Handler<typeof createIssue, Actor> = async (call) => {
    const { actor, body, requestId } = call;
    return idempotency.once(idempotencyRequest(call, body), requestId, {
      prepare: async () => {
        const issue = await issues.resolve(actor, readNewIssue(body));
        return async (transaction) => {
          const created = await issues.create(issue, { actorId: actor.id, requestId }, transaction);
          return { resourceId: created.id, response: createdIssueResponse(presenter.text(created), urls) };
        };
      },
      present: async (id) => createdIssueResponse(await issues.find({ id }), urls),
    });
  };

  const update: Handler<typeof updateIssue, Actor> = async ({ actor, params, headers, body, requestId }) => {
    const precondition = { ifMatch: readIfMatch(headers['If-Match']), version: body.version ?? undefined };
    const edit = readIssueEdit(body);
    const updated = await issues.update(actor, urls.parse(params), edit, { precondition, requestId });
    return issueResponse(presenter.text(updated));
  };

  const changeStatus: Handler<typeof changeIssueStatus, Actor> = async (call) => {
    const { actor, params, headers, body, requestId } = call;
    const reference = urls.parse(params);
    const request = {
      status: body.status,
      precondition: { ifMatch: readIfMatch(headers['If-Match']), version: body.version ?? undefined },
      requestId,
    };
    return idempotency.once(idempotencyRequest(call, body, reference), requestId, {
      prepare: async () => {
        const comment = body.comment == null ? null : await comments.draft(body.comment);
        return async (transaction) => {
          const changed = await statuses.change(actor, reference, { ...request, comment }, transaction);
          return { resourceId: changed.id, response: issueResponse(presenter.text(changed)) };
        };
      },
      present: async (id) => issueResponse(await issues.find({ id })),
    });
  };

  const describe: Handler<typeof describeIssues, Actor> = () => ({
    status: 200,
    headers: { Allow: 'GET, HEAD, OPTIONS, POST' },
    body: issueMetadata,
  });

  return { get, create, update, changeStatus, describe };
}
