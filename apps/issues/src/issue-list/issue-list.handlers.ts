import type { listIssues } from '@tessera/contracts';
import type { Handler } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import type { IssueUrls } from '../issues/issue-urls.ts';
import { parametersOf } from '../paging/page-address.ts';
import { presentIssueList } from './issue-list.presenter.ts';
import { readIssueListQuery } from './issue-list.query.ts';
import type { IssueListService } from './issue-list.service.ts';

interface IssueListHandlersOptions {
  lists: IssueListService;
  urls: IssueUrls;
  /** Issues in an array whose size the client did not choose. */
  listMax: number;
}

export function issueListHandlers({ lists, urls, listMax }: IssueListHandlersOptions) {
  const list: Handler<typeof listIssues, Actor> = async ({ query: sent, request, actor }) => {
    const { keyPrefix } = urls;
    const query = readIssueListQuery(sent, parametersOf(request.url), { actor, keyPrefix, listMax });
    return presentIssueList(await lists.find(query), query, urls.list);
  };

  return { list };
}
