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
import { TrackerError } from './tracker-error.ts';
import { readPages } from './tracker-pages.ts';
import { canonicalText, canonicalTitle, outboundText } from './tracker-text.ts';
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

const user = z.object({ login: z.string() });
const issueSchema = z.object({
  number: z.int().positive(),
  html_url: z.string(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  state_reason: z.string().nullish(),
  created_at: z.iso.datetime({ offset: true }),
  updated_at: z.iso.datetime({ offset: true }),
  pull_request: z.unknown().optional(),
});
const commentSchema = z.object({
  id: z.int().positive(),
  body: z.string().nullish(),
  user: user.nullish(),
  created_at: z.iso.datetime({ offset: true }),
});

/** GitHub's REST API, version 2022-11-28 (docs.github.com/rest/issues), also of a GitHub Enterprise Server. */
export class GitHubTracker implements ExternalTracker {
  readonly provider = 'github';
  readonly hasPriority = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly #transport: TrackerTransport;
  readonly #issues: string;
  #login: string | undefined;

  constructor({ transport, project, login, settleSeconds }: GitHubOptions) {
    this.#transport = transport;
    this.project = project;
    this.settleSeconds = settleSeconds;
    this.#issues = `/repos/${project.split('/').map(encodeURIComponent).join('/')}/issues`;
    this.#login = login;
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const body = toBody(draft, marker);
    return toRemote(
      await this.#transport.read({ method: 'POST', path: this.#issues, body, signal }, issueSchema),
    );
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'GET', path: `${this.#issues}/${id}`, names: 'issue', signal } as const;
    const issue = await this.#transport.read(request, issueSchema);
    // GitHub numbers pull requests and issues together, and answers both here.
    if (issue.pull_request !== undefined) throw new TrackerError('gone', 'a pull request, not an issue');
    return toRemote(issue);
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
      creator: await this.#ownLogin(signal),
      sort: 'created',
      direction: 'asc',
      since: since.toISOString(),
      per_page: 100,
    };
    const request = { method: 'GET', path: this.#issues, query, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(issueSchema));
    return pages
      .flat()
      .filter((issue) => issue.pull_request === undefined && issue.body?.includes(marker))
      .map(toRemote);
  }

  async listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]> {
    const path = `${this.#issues}/${id}/comments`;
    const request = { method: 'GET', path, names: 'issue', query: { per_page: 100 }, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(commentSchema));
    return pages.flat().map((comment) => ({
      id: String(comment.id),
      body: comment.body ?? '',
      author: comment.user?.login ?? null,
      createdAt: new Date(comment.created_at),
    }));
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const path = `${this.#issues}/${id}/comments`;
    const content = { body: outboundText(body, marker, 'markdown') };
    const request = { method: 'POST', path, names: 'issue', body: content, signal } as const;
    return String((await this.#transport.read(request, commentSchema)).id);
  }

  stateOf({ status, wasResolved }: LocalState): string {
    if (!isDone(status)) return 'open';
    return status === 'RESOLVED' || wasResolved ? 'closed:completed' : 'closed:not_planned';
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    const isDropped = state === 'closed:not_planned' || state === 'closed:duplicate';
    return stepForTwoStates(state === 'open', isDropped ? 'CLOSED' : 'RESOLVED', local);
  }

  async #ownLogin(signal: AbortSignal): Promise<string> {
    this.#login ??= (await this.#transport.read({ method: 'GET', path: '/user', signal }, user)).login;
    return this.#login;
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

function toRemote(issue: z.output<typeof issueSchema>): RemoteIssue {
  return {
    id: String(issue.number),
    key: `#${issue.number}`,
    url: issue.html_url,
    title: canonicalTitle(issue.title),
    description: canonicalText(issue.body ?? ''),
    state: issue.state === 'open' ? 'open' : `closed:${issue.state_reason ?? 'completed'}`,
    priority: null,
    createdAt: new Date(issue.created_at),
    updatedAt: new Date(issue.updated_at),
    revision: null,
  };
}
