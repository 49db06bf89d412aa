import type { deleteLink, putLink } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { Actor } from '../issue-core/actor.ts';
import type { IssuePresenter } from '../issue-core/issue.presenter.ts';
import { presentLink, readLink } from '../issue-core/issue.presenter.ts';
import type { IssueUrls } from '../issue-core/issue-reference.ts';
import { readIfMatch } from '../issue-core/precondition.ts';
import type { LinkService } from './link.service.ts';

interface LinkHandlersOptions {
  links: LinkService;
  presenter: IssuePresenter;
  urls: IssueUrls;
}

/** Handlers of single links (docs/spec/issue-tracking.md 2.3). */
export function linkHandlers({ links, presenter, urls }: LinkHandlersOptions) {
  const put: Handler<typeof putLink, Actor> = async ({ actor, params, headers, body, requestId }) => {
    const context = { precondition: { ifMatch: readIfMatch(headers['If-Match']) }, requestId };
    const { issue, link, isNew } = await links.put(actor, urls.parse(params, actor), readLink(body), context);
    const { etag } = presenter.text(issue);
    return { status: isNew ? 201 : 200, headers: { ETag: etag }, body: presentLink(link) };
  };

  const remove: Handler<typeof deleteLink, Actor> = async ({ actor, params, headers, requestId }) => {
    const context = { precondition: { ifMatch: readIfMatch(headers['If-Match']) }, requestId };
    await links.remove(actor, urls.parse(params, actor), params.link_id, context);
    return { status: 204 };
  };

  return { put, remove };
}
