import { httpUrlSchema, type IssueStatus, type SyncedField, type TrackerProvider } from '@tessera/contracts';
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
  stepForTwoStates,
  toChangedIssue,
} from './external-tracker.ts';
import { checkWriting, type TrackerCheck } from './tracker-check.ts';
import type { TrackerClock } from './tracker-clock.ts';
import type { TrackerConfig, TrackerContext } from './tracker-config.ts';
import { problemOr, TrackerError } from './tracker-error.ts';
import { GitHubLabels, issueLabelsSchema } from './tracker-labels.ts';
import { projectError } from './tracker-response.ts';
import {
  canonicalText,
  canonicalTitle,
  endMarker,
  fitText,
  outboundText,
  remoteNameSchema,
} from './tracker-text.ts';
import { type TrackerRequest, TrackerTransport } from './tracker-transport.ts';

const time = z.iso.datetime({ offset: true });
const userSchema = z.object({ login: remoteNameSchema, email: z.string().nullish() });
const issueSchema = z.object({
  number: z.int().positive(),
  html_url: httpUrlSchema,
  title: z.string(),
  body: z.string().nullish(),
  state: remoteNameSchema,
  /** GitHub only. */
  state_reason: remoteNameSchema.nullish(),
  created_at: time,
  updated_at: time,
  comments: z.int().nullish(),
  labels: issueLabelsSchema,
  /** Both platforms list pull requests as issues. */
  pull_request: z.unknown().nullish(),
  /** Newer versions of Gitea only. */
  content_version: z.int().nullish(),
});
const listedSchema = issueSchema.extend({ user: userSchema.nullish(), assignee: userSchema.nullish() });
const changedSchema = issueSchema.pick({ number: true, body: true, created_at: true, updated_at: true });
const repositorySchema = z.object({
  archived: z.boolean().nullish(),
  has_issues: z.boolean().nullish(),
});
const commentSchema = z.object({
  id: z.int().positive(),
  body: z.string().nullish(),
  user: userSchema.nullish(),
  created_at: time,
});
type Issue = z.output<typeof issueSchema>;
type Query = NonNullable<TrackerRequest['query']>;

/** The differences between the requests of GitHub's and Gitea's API. */
export interface ForgeApi {
  /** Prefix of all paths. */
  root: string;
  headers: Record<string, string>;
  /** See `ExternalTracker.settleSeconds`. */
  settleSeconds: number;
  writeIntervalMs: number;
  /** Filters the list of issues by their creator. */
  creatorQuery: (login: string) => Query;
  /** Lists changed issues, in the order of their last update if the platform can. */
  changesQuery: Query;
  ordersChanges: boolean;
  commentsQuery: Query;
  /** The maximum number of characters of a text. */
  textMax?: number;
  Labels: typeof GitHubLabels;
}

function githubApi(token: string): ForgeApi {
  return {
    root: '',
    headers: {
      Authorization: `Bearer ${token}`,
      Accept: 'application/vnd.github+json',
      'X-GitHub-Api-Version': '2022-11-28',
    },
    settleSeconds: 600,
    // docs.github.com/rest/using-the-rest-api/best-practices: at least a second between writes.
    writeIntervalMs: 1_000,
    creatorQuery: (login) => ({ creator: login, sort: 'created', direction: 'asc', per_page: 100 }),
    changesQuery: { sort: 'updated', direction: 'asc', per_page: 100 },
    ordersChanges: true,
    commentsQuery: { per_page: 100 },
    textMax: 65_536,
    Labels: GitHubLabels,
  };
}

/** GitHub's REST API, version 2022-11-28 (docs.github.com/rest/issues), including GitHub Enterprise Server. */
export class GitHubTracker implements ExternalTracker {
  readonly provider: TrackerProvider = 'github';
  readonly hasPriority = false;
  readonly publishesLate = false;
  readonly project: string;
  readonly settleSeconds: number;
  readonly ordersChanges: boolean;
  readonly labels: GitHubLabels;
  readonly #transport: TrackerTransport;
  readonly #clock: TrackerClock;
  readonly #api: ForgeApi;
  readonly #issues: string;
  #login: string | undefined;

  constructor(config: TrackerConfig, context: TrackerContext, api = githubApi(config.token)) {
    this.project = config.project;
    this.settleSeconds = config.settleSeconds ?? api.settleSeconds;
    this.ordersChanges = api.ordersChanges;
    this.#transport = new TrackerTransport(config, api, context);
    this.#clock = context.clock;
    this.#api = api;
    const repository = `${api.root}/repos/${config.project.split('/').map(encodeURIComponent).join('/')}`;
    this.#issues = `${repository}/issues`;
    this.labels = new api.Labels(this.#transport, { project: `${repository}/labels`, issues: this.#issues });
    this.#login = config.login;
  }

  get isPaused(): boolean {
    return this.#transport.isPaused;
  }

  async findProblem(signal: AbortSignal): Promise<TrackerError | undefined> {
    const path = this.#issues.slice(0, -'/issues'.length);
    const project = await problemOr(this.#transport.read({ method: 'GET', path, signal }, repositorySchema));
    if (project instanceof TrackerError) return projectError(this.provider, project);
    if (project.archived === true) return new TrackerError('project_archived', 'archived');
    if (project.has_issues === false) return new TrackerError('issues_disabled', 'issues are disabled');
    return undefined;
  }

  async checkSettings(signal: AbortSignal): Promise<TrackerCheck[]> {
    const request = { method: 'PATCH', ...this.#onIssue('0'), body: {}, signal } as const;
    return [await checkWriting(() => this.#transport.send(request))];
  }

  async findAccount(signal: AbortSignal): Promise<string> {
    const path = `${this.#api.root}/user`;
    this.#login ??= (await this.#transport.read({ method: 'GET', path, signal }, userSchema)).login;
    return this.#login;
  }

  toFit(text: string): string {
    return this.#api.textMax === undefined ? text : fitText(text, 'markdown', this.#api.textMax);
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    const body = this.toBody(draft, marker);
    return this.#toRemoteIssue(
      await this.#transport.read({ method: 'POST', path: this.#issues, body, signal }, issueSchema),
    );
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    const issue = await this.#transport.read({ method: 'GET', ...this.#onIssue(id), signal }, issueSchema);
    if (isPullRequest(issue)) throw new TrackerError('remote_gone', 'a pull request, not an issue');
    return this.#toRemoteIssue(issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const body = this.toBody(change, marker, seen);
    await this.#transport.send({ method: 'PATCH', ...this.#onIssue(seen.id), body, signal });
  }

  // docs.github.com/rest/issues/events, docs.gitea.com/api: the history does not contain the texts that an edit
  // replaced.
  async findOverwritten(): Promise<RemoteChange> {
    return {};
  }

  async changeTimes(): Promise<Map<SyncedField, Date>> {
    return new Map();
  }

  // Lists issues because the search index lags by minutes.
  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    const creator = this.#api.creatorQuery(await this.findAccount(signal));
    const query = { state: 'all', since: since.toISOString(), ...creator };
    const issues = await this.#transport.readPages({
      path: this.#issues,
      query,
      item: issueSchema,
      keep: (issue) => (!isPullRequest(issue) && issue.body?.includes(marker) ? issue : undefined),
      signal,
    });
    return issues
      .sort((left, right) => left.number - right.number)
      .map((issue) => this.#toRemoteIssue(issue));
  }

  async listChanged(position: ListPosition, signal: AbortSignal): Promise<ChangedPage> {
    const { items: issues, hasNext } = await this.#transport.readList({
      ...this.#updatedSince(position),
      item: changedSchema,
      keep: ({ number, body: text, ...times }) => toChangedIssue(number, { text, ...times }),
      signal,
    });
    return { issues, hasNext };
  }

  async listIssues(position: ListPosition, signal: AbortSignal): Promise<IssuePage> {
    const { items: issues, hasNext } = await this.#transport.readList({
      ...this.#updatedSince(position),
      item: listedSchema,
      keep: (issue) => (isPullRequest(issue) ? undefined : this.#toListedIssue(issue)),
      signal,
    });
    return { issues, hasNext };
  }

  async listComments(
    id: string,
    isWanted: (id: string) => boolean,
    signal: AbortSignal,
  ): Promise<RemoteComment[]> {
    return this.#transport.readPages({
      ...this.#onIssue(id, '/comments'),
      query: this.#api.commentsQuery,
      item: commentSchema,
      keep: (comment) => {
        if (!isWanted(String(comment.id))) return undefined;
        return {
          id: String(comment.id),
          body: comment.body ?? '',
          author: comment.user?.login ?? null,
          createdAt: new Date(comment.created_at),
        };
      },
      signal,
    });
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const { id: commentId } = await this.#transport.read(
      {
        method: 'POST',
        ...this.#onIssue(id, '/comments'),
        body: { body: outboundText(this.toFit(body), marker, 'markdown') },
        signal,
      },
      commentSchema,
    );
    return String(commentId);
  }

  stateOf({ status, wasResolved }: LocalState): string {
    if (!isDone(status)) return 'open';
    return status === 'RESOLVED' || wasResolved ? 'closed:completed' : 'closed:not_planned';
  }

  // docs.github.com/rest/issues: a reason is ignored unless the state changes with it.
  isReached(state: string, wanted: string): boolean {
    return (state === 'open') === (wanted === 'open');
  }

  meaningOf(): undefined {}

  statusOf(state: string, local: IssueStatus): IssueStatus {
    const isDropped = state === 'closed:not_planned' || state === 'closed:duplicate';
    return stepForTwoStates(state === 'open', isDropped ? 'CLOSED' : 'RESOLVED', local);
  }

  /** `seen`: the issue before an update. */
  protected toBody({ title, description, state }: RemoteChange, marker: string, _seen?: RemoteIssue): object {
    const [word, reason] = state?.split(':') ?? [];
    return {
      ...(title === undefined ? {} : { title }),
      ...(description === undefined ? {} : { body: outboundText(description, marker, 'markdown') }),
      ...(word === undefined ? {} : { state: word, state_reason: reason ?? 'reopened' }),
    };
  }

  protected toState({ state, state_reason: reason }: Pick<Issue, 'state' | 'state_reason'>): string {
    return state === 'open' ? 'open' : `closed:${reason ?? 'completed'}`;
  }

  #updatedSince({ since, page }: ListPosition) {
    const query = { state: 'all', since: since.toISOString(), ...this.#api.changesQuery, page };
    return { path: this.#issues, query };
  }

  #onIssue(id: string, suffix = '') {
    return { path: `${this.#issues}/${id}${suffix}`, target: 'issue' } as const;
  }

  #toListedIssue({ user, assignee, ...issue }: z.output<typeof listedSchema>): ListedIssue {
    return {
      ...this.#toRemoteIssue(issue),
      author: user?.login ?? null,
      authorId: user?.login ?? null,
      assignee: assignee == null ? null : { name: assignee.login, email: assignee.email || null },
    };
  }

  #toRemoteIssue(issue: Issue): RemoteIssue {
    const { content_version: version } = issue;
    return {
      id: String(issue.number),
      key: `#${issue.number}`,
      url: issue.html_url,
      title: canonicalTitle(issue.title),
      description: canonicalText(issue.body ?? ''),
      marker: endMarker(issue.body ?? ''),
      isPrivate: false,
      state: this.toState(issue),
      priority: null,
      labels: this.labels.toLabels(issue.labels),
      createdAt: new Date(issue.created_at),
      updatedAt: new Date(issue.updated_at),
      readAt: this.#clock.passedTime(new Date(issue.updated_at)),
      commentsCount: issue.comments ?? null,
      revision: version === undefined || version === null ? null : String(version),
    };
  }
}

function isPullRequest({ pull_request: pullRequest }: Issue): boolean {
  return pullRequest !== undefined && pullRequest !== null;
}
