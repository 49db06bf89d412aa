import type { IncomingMessage, ServerResponse } from 'node:http';
import { parse as parseQuery } from 'node:querystring';
import { createIssueSchema } from '@tessera/contracts';
import {
  bodyRead,
  type ConnectHandler,
  type DirectRoute,
  headersSetBy,
  type NodeHandler,
  parse,
  readBody,
  sendAnswer,
} from '@tessera/service-kit';
import { actorOf } from '../authentication/actor.ts';
import type { IdempotencyService } from '../idempotency/idempotency.service.ts';
import { claimOf } from '../idempotency/idempotency-key.ts';
import { presentIssueList } from '../issue-list/issue-list.presenter.ts';
import { readIssueListQuery } from '../issue-list/issue-list.query.ts';
import type { IssueListService } from '../issue-list/issue-list.service.ts';
import { presentCreatedIssue, presentIssue, readNewIssue } from './issue.presenter.ts';
import type { IssueService } from './issue.service.ts';
import { type IssueAddresses, issuePath, issuesPath } from './issue-address.ts';
import { matches } from './precondition.ts';

interface IssueEndpointsOptions {
  issues: IssueService;
  lists: IssueListService;
  idempotency: IdempotencyService;
  addresses: IssueAddresses;
  /** Issues in an array whose size the client did not choose. */
  listMax: number;
}

/** Reads the body of an issue. */
export const issueBody = readBody({ limitBytes: 256 * 1024 });

const listTarget = new RegExp(`^${issuesPath}/?(?:\\?|$)`);
const createTarget = new RegExp(`^${issuesPath}/?$`);
const issueTarget = new RegExp(`^${issuesPath}/([A-Za-z0-9-]+)/?$`);

/** What people do with issues all day; the router and the direct routes share it. */
export class IssueEndpoints {
  readonly #options: IssueEndpointsOptions;

  constructor(options: IssueEndpointsOptions) {
    this.#options = options;
  }

  /** A page of issues. */
  async list(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { lists, addresses, listMax } = this.#options;
    const { keyPrefix } = addresses;
    const query = readIssueListQuery(queryOf(request), { actor: actorOf(response), keyPrefix, listMax });
    sendAnswer(response, presentIssueList(await lists.find(query), query, addresses.list));
  }

  /** The issue that `id` of the path names, or 304 where the client has it as it is. */
  async get(request: IncomingMessage, response: ServerResponse, id: string): Promise<void> {
    const { issues, addresses } = this.#options;
    const { headers, ...answer } = presentIssue(await issues.find(addresses.parse({ id })));
    const known = request.headers['if-none-match'];
    const fields = { ...headers, 'Cache-Control': 'private, no-cache' };
    if (known !== undefined && matches(known, headers.ETag, 'weak')) response.writeHead(304, fields).end();
    else sendAnswer(response, { ...answer, headers: fields });
  }

  /** Makes an issue of the body that was read; once, where the request has an `Idempotency-Key`. */
  async create(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { issues, idempotency, addresses } = this.#options;
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
  }

  /**
   * All without Express. `prepare` stands for the middleware that sets the same headers on every answer, `admit` for
   * the one that looks at the request.
   */
  directRoutes(prepare: ConnectHandler[], admit: NodeHandler): DirectRoute[] {
    const headers = headersSetBy(...prepare);
    const route = (
      method: DirectRoute['method'],
      path: string,
      target: RegExp,
      answer: NodeHandler,
    ): DirectRoute => ({
      method,
      path,
      target,
      headers,
      variesByOrigin: true,
      answer: async (request, response) => {
        await admit(request, response);
        await answer(request, response);
      },
    });
    return [
      route('GET', issuesPath, listTarget, (request, response) => this.list(request, response)),
      route('GET', issuePath, issueTarget, (request, response) =>
        this.get(request, response, issueTarget.exec(request.url ?? '')?.[1] ?? ''),
      ),
      route('POST', issuesPath, createTarget, async (request, response) => {
        await bodyRead(issueBody, request, response);
        await this.create(request, response);
      }),
    ];
  }
}

// As Express reads it.
function queryOf({ url = '' }: IncomingMessage): object {
  const start = url.indexOf('?');
  return start === -1 ? {} : parseQuery(url.slice(start + 1));
}
