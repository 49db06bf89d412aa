import type { ServerResponse } from 'node:http';
import type {
  changeIssueStatus,
  createIssue,
  describeIssues,
  getIssue,
  updateIssue,
} from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { OnceHandler } from '../idempotency/once.ts';
import type { Actor, PartsQuota } from '../issue-core/actor.ts';
import type { CommentDraft } from '../issue-core/comment.ts';
import {
  createdIssueResponse,
  type IssuePresenter,
  issueResponse,
  readIssueEdit,
  readNewIssue,
} from '../issue-core/issue.presenter.ts';
import { type IssueUrls, seenBy } from '../issue-core/issue-reference.ts';
import { isKnown, readIfMatch } from '../issue-core/precondition.ts';
import type { IssueService } from './issue.service.ts';
import { issueMetadata } from './issue-metadata.ts';

interface IssueHandlersOptions {
  issues: IssueService;
  comments: { draft(body: string): Promise<CommentDraft> };
  presenter: IssuePresenter;
  urls: IssueUrls;
  /** The quota of writes. Each link has an event of its own. */
  quota: PartsQuota;
}

/** Handlers of issues (docs/spec/issue-tracking.md 4). */
export function issueHandlers({ issues, comments, presenter, urls, quota }: IssueHandlersOptions) {
  const countLinks = (actor: Actor, response: ServerResponse, count = 0) =>
    quota.countParts(actor, response, { count, name: 'link' });

  const get: Handler<typeof getIssue, Actor> = async ({ actor, params, headers }) => {
    const { headers: shown, body } = issueResponse(await issues.find(urls.parse(params, actor)));
    const responseHeaders = { ...shown, 'Cache-Control': 'private, no-cache' };
    const known = headers['If-None-Match'];
    return known !== undefined && isKnown(known, shown.ETag)
      ? { status: 304, headers: responseHeaders }
      : { status: 200, headers: responseHeaders, body };
  };

  const create: OnceHandler<typeof createIssue> = {
    before: ({ actor, body, response }) => countLinks(actor, response, body.links?.length),
    prepare: async ({ actor, body, requestId }) => {
      const issue = await issues.resolve(actor, readNewIssue(body));
      return async (transaction) => {
        const created = await issues.create(
          issue,
          actor.access.scope,
          { actorId: actor.id, requestId },
          transaction,
        );
        return { resourceId: created.id, response: createdIssueResponse(presenter.text(created), urls) };
      };
    },
    present: async (id, { actor }) => createdIssueResponse(await issues.find(seenBy({ id }, actor)), urls),
  };

  const update: Handler<typeof updateIssue, Actor> = async (call) => {
    const { actor, params, headers, body, requestId, response } = call;
    const precondition = { ifMatch: readIfMatch(headers['If-Match']), version: body.version ?? undefined };
    const edit = readIssueEdit(body);
    const context = {
      precondition,
      requestId,
      countLinks: (count: number) => countLinks(actor, response, count),
    };
    const updated = await issues.update(actor, urls.parse(params, actor), edit, context);
    return issueResponse(presenter.text(updated));
  };

  const changeStatus: OnceHandler<typeof changeIssueStatus> = {
    issueOf: ({ actor, params }) => urls.parse(params, actor),
    prepare: async ({ actor, params, headers, body, requestId }) => {
      const reference = urls.parse(params, actor);
      const request = {
        status: body.status,
        comment: body.comment == null ? null : await comments.draft(body.comment),
        precondition: { ifMatch: readIfMatch(headers['If-Match']), version: body.version ?? undefined },
        requestId,
      };
      return async (transaction) => {
        const changed = await issues.changeStatus(actor, reference, request, transaction);
        return { resourceId: changed.id, response: issueResponse(presenter.text(changed)) };
      };
    },
    present: async (id, { actor }) => issueResponse(await issues.find(seenBy({ id }, actor))),
  };

  const describe: Handler<typeof describeIssues, Actor> = () => ({
    status: 200,
    headers: { Allow: 'GET, HEAD, OPTIONS, POST' },
    body: issueMetadata,
  });

  return { get, create, update, changeStatus, describe };
}
