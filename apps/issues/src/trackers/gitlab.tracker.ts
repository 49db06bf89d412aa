import { httpUrlSchema, type IssueStatus, type SyncedField } from '@tessera/contracts';
import { z } from 'zod';
import {
  type ChangedPage,
  type ExternalTracker,
  type IssuePage,
  isDone,
  type ListedIssue,
  type ListPosition,
  type LocalState,
  type RemoteChange,
  type RemoteComment,
  type RemoteDraft,
  type RemoteIssue,
  type RemotePush,
  stepForTwoStates,
  toChangedIssue,
} from './external-tracker.ts';
import { checkWriting, type TrackerCheck } from './tracker-check.ts';
import type { TrackerClock } from './tracker-clock.ts';
import type { TrackerConfig, TrackerContext } from './tracker-config.ts';
import { problemOr, TrackerError } from './tracker-error.ts';
import { GitLabLabels } from './tracker-labels.ts';
import { projectError } from './tracker-response.ts';
import { canonicalText, canonicalTitle, endMarker, outboundText, remoteNameSchema } from './tracker-text.ts';
import { TrackerTransport } from './tracker-transport.ts';

const time = z.iso.datetime({ offset: true });
const issueSchema = z.object({
  iid: z.int().positive(),
  web_url: httpUrlSchema,
  title: z.string(),
  description: z.string().nullish(),
  state: remoteNameSchema,
  created_at: time,
  updated_at: time,
  user_notes_count: z.int().nullish(),
  moved_to_id: z.int().nullish(),
  confidential: z.boolean().nullish(),
  labels: z.array(remoteNameSchema).nullish(),
});
const userSchema = z.object({ username: remoteNameSchema });
const listedSchema = issueSchema.extend({
  author: userSchema.nullish(),
  assignees: z.array(userSchema).nullish(),
});
const changedSchema = issueSchema.pick({ iid: true, description: true, created_at: true, updated_at: true });
const noteFields: readonly (readonly [beginning: string, field: SyncedField])[] = [
  ['changed title', 'title'],
  ['changed the description', 'description'],
];
const projectSchema = z.object({
  archived: z.boolean().nullish(),
  issues_access_level: z.string().nullish(),
});
const noteSchema = z.object({
  id: z.int().positive(),
  body: z.string(),
  author: userSchema.nullish(),
  system: z.boolean(),
  internal: z.boolean().nullish(),
  created_at: time,
});

// The time is longer than a proxy delays an accepted request.
const settleSeconds = 120;

/** GitLab's REST API, version 4 (docs.gitlab.com/api/issues, docs.gitlab.com/api/notes). */
export class GitLabTracker implements ExternalTracker {
  readonly provider = 'gitlab';
  readonly hasPriority = false;
  // gitlab.com/gitlab-org/gitlab/-/issues/386779: an internal note cannot become a comment.
  readonly publishesLate = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly ordersChanges = true;
  readonly labels: GitLabLabels;
  readonly #transport: TrackerTransport;
  readonly #clock: TrackerClock;
  readonly #issues: string;

  constructor(config: TrackerConfig, context: TrackerContext) {
    this.project = config.project;
    this.settleSeconds = config.settleSeconds ?? settleSeconds;
    const headers = { 'PRIVATE-TOKEN': config.token };
    this.#transport = new TrackerTransport(config, { headers, writeIntervalMs: 0 }, context);
    this.#clock = context.clock;
    const project = `/api/v4/projects/${encodeURIComponent(config.project)}`;
    this.#issues = `${project}/issues`;
    this.labels = new GitLabLabels(this.#transport, { project: `${project}/labels`, issues: this.#issues });
  }

  get isPaused(): boolean {
    return this.#transport.isPaused;
  }

  async findProblem(signal: AbortSignal): Promise<TrackerError | undefined> {
    const path = this.#issues.slice(0, -'/issues'.length);
    const project = await problemOr(this.#transport.read({ method: 'GET', path, signal }, projectSchema));
    if (project instanceof TrackerError) return projectError(this.provider, project);
    if (project.archived === true) return new TrackerError('project_archived', 'archived');
    if (project.issues_access_level === 'disabled')
      return new TrackerError('issues_disabled', 'issues are disabled');
    return undefined;
  }

  async checkSettings(signal: AbortSignal): Promise<TrackerCheck[]> {
    const request = { method: 'PUT', ...this.#onIssue('0'), body: { title: '-' }, signal } as const;
    return [await checkWriting(() => this.#transport.send(request))];
  }

  async findAccount(signal: AbortSignal): Promise<string> {
    const request = { method: 'GET', path: '/api/v4/user', signal } as const;
    return (await this.#transport.read(request, userSchema)).username;
  }

  // GitLab's limit of 1 MiB exceeds the local limits.
  toFit(text: string): string {
    return text;
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const body = toBody(draft, marker);
    return this.#toRemoteIssue(
      await this.#transport.read({ method: 'POST', path: this.#issues, body, signal }, issueSchema),
    );
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const issue = await this.#transport.read({ method: 'GET', ...this.#onIssue(id), signal }, issueSchema);
    if (isMoved(issue)) throw new TrackerError('remote_moved', 'moved to another project');
    return this.#toRemoteIssue(issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const body = toBody(change, marker);
    await this.#transport.send({ method: 'PUT', ...this.#onIssue(seen.id), body, signal });
  }

  // Of the synced fields, the history contains only titles, as system notes.
  async findOverwritten(id: string, push: RemotePush, signal: AbortSignal): Promise<RemoteChange> {
    const { seen, wanted, seenAt } = push;
    if (wanted.title === undefined) return {};
    const titles = await this.#readNotes(id, signal, ({ system, created_at: at, body }) =>
      system && Date.parse(at) >= Date.parse(seenAt) ? titleChange(body) : undefined,
    );
    const replaced = titles.findLast(({ to }) => to === wanted.title)?.from;
    return replaced === undefined || replaced === seen.title ? {} : { title: replaced };
  }

  // GitLab's app/services/system_notes/issuables_service.rb: each of these notes is the tracker's own.
  async changeTimes(id: string, signal: AbortSignal): Promise<Map<SyncedField, Date>> {
    const changes = await this.#readNotes(id, signal, ({ system, body, created_at: at }) => {
      const field = system ? noteFields.find(([beginning]) => body.startsWith(beginning))?.[1] : undefined;
      return field === undefined ? undefined : ([field, new Date(at)] as const);
    });
    return new Map(changes);
  }

  // Lists issues because search may use an index that lags.
  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    const query = {
      scope: 'created_by_me',
      created_after: since.toISOString(),
      order_by: 'created_at',
      sort: 'asc',
      per_page: 100,
    };
    const issues = await this.#transport.readPages({
      path: this.#issues,
      query,
      item: issueSchema,
      keep: (issue) => (issue.description?.includes(marker) ? issue : undefined),
      signal,
    });
    return issues.map((issue) => this.#toRemoteIssue(issue));
  }

  async listChanged(position: ListPosition, signal: AbortSignal): Promise<ChangedPage> {
    const { items: issues, hasNext } = await this.#transport.readList({
      ...this.#updatedSince(position),
      item: changedSchema,
      keep: ({ iid, description: text, ...times }) => toChangedIssue(iid, { text, ...times }),
      signal,
    });
    return { issues, hasNext };
  }

  async listIssues(position: ListPosition, signal: AbortSignal): Promise<IssuePage> {
    const { items: issues, hasNext } = await this.#transport.readList({
      ...this.#updatedSince(position),
      item: listedSchema,
      keep: (issue) => (isMoved(issue) ? undefined : this.#toListedIssue(issue)),
      signal,
    });
    return { issues, hasNext };
  }

  async listComments(
    id: string,
    isWanted: (id: string) => boolean,
    signal: AbortSignal,
  ): Promise<RemoteComment[]> {
    return this.#readNotes(id, signal, (note) => {
      if (note.system || note.internal === true || !isWanted(String(note.id))) return undefined;
      return {
        id: String(note.id),
        body: note.body,
        author: note.author?.username ?? null,
        createdAt: new Date(note.created_at),
      };
    });
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const note = { body: outboundText(body, marker, 'gitlab') };
    const { id: noteId } = await this.#transport.read(
      { method: 'POST', ...this.#onIssue(id, '/notes'), body: note, signal },
      noteSchema,
    );
    return String(noteId);
  }

  stateOf({ status }: LocalState): string {
    return isDone(status) ? 'closed' : 'opened';
  }

  isReached(state: string, wanted: string): boolean {
    return state === wanted;
  }

  meaningOf(): undefined {}

  statusOf(state: string, local: IssueStatus): IssueStatus {
    return stepForTwoStates(state !== 'closed', 'RESOLVED', local);
  }

  async #readNotes<Kept>(
    id: string,
    signal: AbortSignal,
    keep: (note: z.output<typeof noteSchema>) => Kept | undefined,
  ): Promise<Kept[]> {
    const query = { order_by: 'created_at', sort: 'asc', per_page: 100 };
    return this.#transport.readPages({
      ...this.#onIssue(id, '/notes'),
      query,
      item: noteSchema,
      keep,
      signal,
    });
  }

  #updatedSince({ since, page }: ListPosition) {
    const order = { order_by: 'updated_at', sort: 'asc' };
    return {
      path: this.#issues,
      query: { updated_after: since.toISOString(), ...order, per_page: 100, page },
    };
  }

  #onIssue(id: string, suffix = '') {
    return { path: `${this.#issues}/${id}${suffix}`, target: 'issue' } as const;
  }

  #toListedIssue({ author, assignees, ...issue }: z.output<typeof listedSchema>): ListedIssue {
    const [assignee] = assignees ?? [];
    return {
      ...this.#toRemoteIssue(issue),
      author: author?.username ?? null,
      authorId: author?.username ?? null,
      assignee: assignee === undefined ? null : { name: assignee.username, email: null },
    };
  }

  #toRemoteIssue(issue: z.output<typeof issueSchema>): RemoteIssue {
    return {
      id: String(issue.iid),
      key: `#${issue.iid}`,
      url: issue.web_url,
      title: canonicalTitle(issue.title),
      description: canonicalText(issue.description ?? ''),
      marker: endMarker(issue.description ?? ''),
      isPrivate: issue.confidential === true,
      state: issue.state,
      priority: null,
      labels: (issue.labels ?? []).map((name) => ({ ref: name, name, color: null })),
      createdAt: new Date(issue.created_at),
      updatedAt: new Date(issue.updated_at),
      readAt: this.#clock.passedTime(new Date(issue.updated_at)),
      commentsCount: issue.user_notes_count ?? null,
      revision: null,
    };
  }
}

// A move to another project leaves a closed issue with the id of the new one.
function isMoved({ moved_to_id: target }: Pick<z.output<typeof issueSchema>, 'moved_to_id'>): boolean {
  return typeof target === 'number';
}

// GitLab's app/services/system_notes/issuables_service.rb, change_title: `{-` and `{+` surround what differs.
function titleChange(note: string): { from: string; to: string } | undefined {
  const [, from, to] = /^changed title from \*\*(.*)\*\* to \*\*(.*)\*\*$/.exec(note) ?? [];
  if (from === undefined || to === undefined) return undefined;
  return {
    from: canonicalTitle(from.replace(/\{-|-\}/g, '')),
    to: canonicalTitle(to.replace(/\{\+|\+\}/g, '')),
  };
}

function toBody({ title, description, state }: RemoteChange, marker: string) {
  return {
    ...(title === undefined ? {} : { title }),
    ...(description === undefined ? {} : { description: outboundText(description, marker, 'gitlab') }),
    ...(state === undefined ? {} : { state_event: state === 'closed' ? 'close' : 'reopen' }),
  };
}
