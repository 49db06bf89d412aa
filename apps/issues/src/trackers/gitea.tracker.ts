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

interface GiteaOptions {
  transport: TrackerTransport;
  /** `owner/repository` */
  project: string;
  /** Whom the credential is of; asked for where it is not configured. */
  login: string | undefined;
  settleSeconds: number;
}

const time = z.iso.datetime({ offset: true });
const user = z.object({ login: z.string() });
const issueSchema = z.object({
  number: z.int().positive(),
  html_url: z.string(),
  title: z.string(),
  body: z.string().nullish(),
  state: z.string(),
  created_at: time,
  updated_at: time,
  pull_request: z.unknown().nullish(),
  content_version: z.int().nullish(),
});
const commentSchema = z.object({
  id: z.int().positive(),
  body: z.string(),
  user: user.nullish(),
  created_at: time,
});

/** The REST API of Gitea and of Forgejo, version 1 (docs.gitea.com/api, forgejo.org/docs/latest/user/api-usage). */
export class GiteaTracker implements ExternalTracker {
  readonly provider = 'gitea';
  readonly hasPriority = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly #transport: TrackerTransport;
  readonly #issues: string;
  #login: string | undefined;

  constructor({ transport, project, login, settleSeconds }: GiteaOptions) {
    this.#transport = transport;
    this.project = project;
    this.settleSeconds = settleSeconds;
    this.#issues = `/api/v1/repos/${project.split('/').map(encodeURIComponent).join('/')}/issues`;
    this.#login = login;
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'POST', path: this.#issues, body: toBody(draft, marker), signal } as const;
    return toRemote(await this.#transport.read(request, issueSchema));
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'GET', path: `${this.#issues}/${id}`, names: 'issue', signal } as const;
    const issue = await this.#transport.read(request, issueSchema);
    // Pull requests and issues are numbered together, and both are answered here.
    if (isPullRequest(issue)) throw new TrackerError('gone', 'a pull request, not an issue');
    return toRemote(issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const path = `${this.#issues}/${seen.id}`;
    const body = {
      ...toBody(change, marker),
      // Newer versions refuse a change of a text that has changed since, with 409; older ones know no such member.
      ...(seen.revision === null ? {} : { content_version: Number(seen.revision) }),
    };
    await this.#transport.send({ method: 'PATCH', path, names: 'issue', body, signal });
  }

  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    const query = {
      state: 'all',
      type: 'issues',
      created_by: await this.#ownLogin(signal),
      since: since.toISOString(),
      limit: 50,
    };
    const request = { method: 'GET', path: this.#issues, query, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(issueSchema));
    return pages
      .flat()
      .filter((issue) => !isPullRequest(issue) && issue.body?.includes(marker))
      .map(toRemote)
      .reverse();
  }

  async listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]> {
    const path = `${this.#issues}/${id}/comments`;
    const request = { method: 'GET', path, names: 'issue', signal } as const;
    const pages = await readPages(this.#transport, request, z.array(commentSchema));
    return pages.flat().map((comment) => ({
      id: String(comment.id),
      body: comment.body,
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

  stateOf({ status }: LocalState): string {
    return isDone(status) ? 'closed' : 'open';
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    return stepForTwoStates(state !== 'closed', 'RESOLVED', local);
  }

  async #ownLogin(signal: AbortSignal): Promise<string> {
    this.#login ??= (await this.#transport.read({ method: 'GET', path: '/api/v1/user', signal }, user)).login;
    return this.#login;
  }
}

function isPullRequest({ pull_request: pullRequest }: z.output<typeof issueSchema>): boolean {
  return pullRequest !== undefined && pullRequest !== null;
}

function toBody({ title, description, state }: RemoteChange, marker: string) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { body: outboundText(description, marker, 'markdown') }),
    ...(state === undefined ? {} : { state }),
  };
}

function toRemote(issue: z.output<typeof issueSchema>): RemoteIssue {
  return {
    id: String(issue.number),
    key: `#${issue.number}`,
    url: issue.html_url,
    title: canonicalTitle(issue.title),
    description: canonicalText(issue.body ?? ''),
    state: issue.state,
    priority: null,
    createdAt: new Date(issue.created_at),
    updatedAt: new Date(issue.updated_at),
    revision: typeof issue.content_version === 'number' ? String(issue.content_version) : null,
  };
}
