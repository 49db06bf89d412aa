import type { IssueStatus } from '@tessera/contracts';
import { z } from 'zod';
import type {
  ExternalTracker,
  LocalState,
  RemoteChange,
  RemoteComment,
  RemoteDraft,
  RemoteIssue,
} from './external-tracker.ts';
import {
  assertIssue,
  ForgeAccount,
  type ForgeIssue,
  forgeCommentSchema,
  forgeIssueSchema,
  forgeIssuesPath,
  toRemoteComment,
  toRemoteIssue,
  withMarker,
} from './forge.ts';
import { readPages } from './tracker-pages.ts';
import { outboundText } from './tracker-text.ts';
import type { TrackerTransport } from './tracker-transport.ts';
import { isDone, stepForTwoStates } from './tracker-workflow.ts';

interface GitHubOptions {
  transport: TrackerTransport;
  /** `owner/repository` */
  project: string;
  /** Whom the credential is of; asked for where it is not configured. */
  login: string | undefined;
  settleSeconds: number;
}

/** GitHub's REST API, version 2022-11-28 (docs.github.com/rest/issues), also of a GitHub Enterprise Server. */
export class GitHubTracker implements ExternalTracker {
  readonly provider = 'github';
  readonly hasPriority = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly #transport: TrackerTransport;
  readonly #issues: string;
  readonly #account: ForgeAccount;

  constructor({ transport, project, login, settleSeconds }: GitHubOptions) {
    this.#transport = transport;
    this.project = project;
    this.settleSeconds = settleSeconds;
    this.#issues = forgeIssuesPath(project);
    this.#account = new ForgeAccount(transport, '/user', login);
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const body = toBody(draft, marker);
    return toRemote(
      await this.#transport.read({ method: 'POST', path: this.#issues, body, signal }, forgeIssueSchema),
    );
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'GET', path: `${this.#issues}/${id}`, names: 'issue', signal } as const;
    return toRemote(assertIssue(await this.#transport.read(request, forgeIssueSchema)));
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const path = `${this.#issues}/${seen.id}`;
    const body = toBody(change, marker);
    await this.#transport.send({ method: 'PATCH', path, names: 'issue', body, signal });
  }

  // The list and not the search, whose index is minutes behind.
  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    const query = {
      state: 'all',
      creator: await this.#account.login(signal),
      sort: 'created',
      direction: 'asc',
      since: since.toISOString(),
      per_page: 100,
    };
    const request = { method: 'GET', path: this.#issues, query, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(forgeIssueSchema));
    return withMarker(pages, marker).map(toRemote);
  }

  async listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]> {
    const path = `${this.#issues}/${id}/comments`;
    const request = { method: 'GET', path, names: 'issue', query: { per_page: 100 }, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(forgeCommentSchema));
    return pages.flat().map(toRemoteComment);
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const path = `${this.#issues}/${id}/comments`;
    const content = { body: outboundText(body, marker, 'markdown') };
    const request = { method: 'POST', path, names: 'issue', body: content, signal } as const;
    return String((await this.#transport.read(request, forgeCommentSchema)).id);
  }

  stateOf({ status, wasResolved }: LocalState): string {
    if (!isDone(status)) return 'open';
    return status === 'RESOLVED' || wasResolved ? 'closed:completed' : 'closed:not_planned';
  }

  // docs.github.com/rest/issues: a reason is ignored unless the state changes with it.
  isReached(state: string, wanted: string): boolean {
    return (state === 'open') === (wanted === 'open');
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    const isDropped = state === 'closed:not_planned' || state === 'closed:duplicate';
    return stepForTwoStates(state === 'open', isDropped ? 'CLOSED' : 'RESOLVED', local);
  }
}

function toBody({ title, description, state }: RemoteChange, marker: string) {
  const [word, reason] = state?.split(':') ?? [];
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { body: outboundText(description, marker, 'markdown') }),
    ...(word === undefined ? {} : { state: word, state_reason: reason ?? 'reopened' }),
  };
}

function toRemote(issue: ForgeIssue): RemoteIssue {
  const { state, state_reason: reason } = issue;
  return toRemoteIssue(issue, state === 'open' ? 'open' : `closed:${reason ?? 'completed'}`);
}
