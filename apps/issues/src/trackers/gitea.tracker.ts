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

interface GiteaOptions {
  transport: TrackerTransport;
  /** `owner/repository` */
  project: string;
  /** Whom the credential is of; asked for where it is not configured. */
  login: string | undefined;
  settleSeconds: number;
}

/** The REST API of Gitea and of Forgejo, version 1 (docs.gitea.com/api, forgejo.org/docs/latest/user/api-usage). */
export class GiteaTracker implements ExternalTracker {
  readonly provider = 'gitea';
  readonly hasPriority = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly #transport: TrackerTransport;
  readonly #issues: string;
  readonly #account: ForgeAccount;

  constructor({ transport, project, login, settleSeconds }: GiteaOptions) {
    this.#transport = transport;
    this.project = project;
    this.settleSeconds = settleSeconds;
    this.#issues = `/api/v1${forgeIssuesPath(project)}`;
    this.#account = new ForgeAccount(transport, '/api/v1/user', login);
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'POST', path: this.#issues, body: toBody(draft, marker), signal } as const;
    return toRemote(await this.#transport.read(request, forgeIssueSchema));
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'GET', path: `${this.#issues}/${id}`, names: 'issue', signal } as const;
    return toRemote(assertIssue(await this.#transport.read(request, forgeIssueSchema)));
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
      created_by: await this.#account.login(signal),
      since: since.toISOString(),
      limit: 50,
    };
    const request = { method: 'GET', path: this.#issues, query, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(forgeIssueSchema));
    // Its list is newest first.
    return withMarker(pages, marker).map(toRemote).reverse();
  }

  async listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]> {
    const path = `${this.#issues}/${id}/comments`;
    const request = { method: 'GET', path, names: 'issue', signal } as const;
    const pages = await readPages(this.#transport, request, z.array(forgeCommentSchema));
    return pages.flat().map(toRemoteComment);
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const path = `${this.#issues}/${id}/comments`;
    const content = { body: outboundText(body, marker, 'markdown') };
    const request = { method: 'POST', path, names: 'issue', body: content, signal } as const;
    return String((await this.#transport.read(request, forgeCommentSchema)).id);
  }

  stateOf({ status }: LocalState): string {
    return isDone(status) ? 'closed' : 'open';
  }

  isReached(state: string, wanted: string): boolean {
    return state === wanted;
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    return stepForTwoStates(state !== 'closed', 'RESOLVED', local);
  }
}

function toBody({ title, description, state }: RemoteChange, marker: string) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { body: outboundText(description, marker, 'markdown') }),
    ...(state === undefined ? {} : { state }),
  };
}

function toRemote(issue: ForgeIssue): RemoteIssue {
  return toRemoteIssue(issue, issue.state);
}
