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

interface GitLabOptions {
  transport: TrackerTransport;
  /** `group/project`, or the project's number. */
  project: string;
  settleSeconds: number;
}

const time = z.iso.datetime({ offset: true });
const issueSchema = z.object({
  iid: z.int().positive(),
  web_url: z.string(),
  title: z.string(),
  description: z.string().nullish(),
  state: z.string(),
  created_at: time,
  updated_at: time,
  moved_to_id: z.int().nullish(),
});
const noteSchema = z.object({
  id: z.int().positive(),
  body: z.string(),
  author: z.object({ username: z.string() }).nullish(),
  system: z.boolean(),
  internal: z.boolean().nullish(),
  created_at: time,
});

/** GitLab's REST API, version 4 (docs.gitlab.com/api/issues, docs.gitlab.com/api/notes). */
export class GitLabTracker implements ExternalTracker {
  readonly provider = 'gitlab';
  readonly hasPriority = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly #transport: TrackerTransport;
  readonly #issues: string;

  constructor({ transport, project, settleSeconds }: GitLabOptions) {
    this.#transport = transport;
    this.project = project;
    this.settleSeconds = settleSeconds;
    this.#issues = `/api/v4/projects/${encodeURIComponent(project)}/issues`;
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'POST', path: this.#issues, body: toBody(draft, marker), signal } as const;
    return toRemote(await this.#transport.read(request, issueSchema));
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const request = { method: 'GET', path: `${this.#issues}/${id}`, names: 'issue', signal } as const;
    const issue = await this.#transport.read(request, issueSchema);
    // What was moved to another project stays behind as a closed issue that names its successor's id.
    if (typeof issue.moved_to_id === 'number') throw new TrackerError('moved', 'moved to another project');
    return toRemote(issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const path = `${this.#issues}/${seen.id}`;
    const body = toBody(change, marker);
    await this.#transport.send({ method: 'PUT', path, names: 'issue', body, signal });
  }

  // The list and not the search, which may run on an index of its own.
  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    const query = {
      scope: 'created_by_me',
      created_after: since.toISOString(),
      order_by: 'created_at',
      sort: 'asc',
      per_page: 100,
    };
    const request = { method: 'GET', path: this.#issues, query, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(issueSchema));
    return pages
      .flat()
      .filter(({ description }) => description?.includes(marker))
      .map(toRemote);
  }

  async listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]> {
    const path = `${this.#issues}/${id}/notes`;
    const query = { order_by: 'created_at', sort: 'asc', per_page: 100 };
    const request = { method: 'GET', path, names: 'issue', query, signal } as const;
    const pages = await readPages(this.#transport, request, z.array(noteSchema));
    return pages
      .flat()
      .filter((note) => !note.system && note.internal !== true)
      .map((note) => ({
        id: String(note.id),
        body: note.body,
        author: note.author?.username ?? null,
        createdAt: new Date(note.created_at),
      }));
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const path = `${this.#issues}/${id}/notes`;
    const content = { body: outboundText(body, marker, 'gitlab') };
    const request = { method: 'POST', path, names: 'issue', body: content, signal } as const;
    return String((await this.#transport.read(request, noteSchema)).id);
  }

  stateOf({ status }: LocalState): string {
    return isDone(status) ? 'closed' : 'opened';
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
    ...(description === undefined ? {} : { description: outboundText(description, marker, 'gitlab') }),
    ...(state === undefined ? {} : { state_event: state === 'closed' ? 'close' : 'reopen' }),
  };
}

function toRemote(issue: z.output<typeof issueSchema>): RemoteIssue {
  return {
    id: String(issue.iid),
    key: `#${issue.iid}`,
    url: issue.web_url,
    title: canonicalTitle(issue.title),
    description: canonicalText(issue.description ?? ''),
    state: issue.state,
    priority: null,
    createdAt: new Date(issue.created_at),
    updatedAt: new Date(issue.updated_at),
    revision: null,
  };
}
