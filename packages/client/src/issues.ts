import type {
  Activity,
  Attachment,
  Backfilled,
  BulkResult,
  Comment,
  CountedField,
  CreateLabel,
  CreateProject,
  CreateView,
  CreateWebhook,
  DeliveryState,
  EventFeedPage,
  FullUser,
  Import,
  ImportPreview,
  Integration,
  Issue,
  IssueCounts,
  IssueDescription,
  IssueEvent,
  IssueField,
  IssueReference,
  IssueSummary,
  Label,
  Link,
  ListableIssue,
  Notification,
  Project,
  ProjectActivity,
  ProjectMember,
  ProjectRole,
  Relation,
  RetriedSyncs,
  RetrySyncs,
  SyncReport,
  UpdateLabel,
  UpdateProject,
  UpdateView,
  UpdateWebhook,
  User,
  View,
  WatchedIssue,
  Watching,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookWithSecret,
} from '@tessera/contracts';
import { issuesPaths } from '@tessera/contracts/requests';
import { assertInterval, type EventOptions, followEvents } from './event-feed.ts';
import { digestHeader, type FileBytes, receiving, sending } from './file-transfer.ts';
import type { UserInput } from './identity-input.ts';
import type {
  BulkChange,
  Fields,
  IssueChange,
  IssueDraft,
  IssueFilters,
  LinkDraft,
  ListedPage,
  NotificationFilters,
  PageFilters,
  RelationDraft,
  StatusChange,
  Timeline,
  TransferOptions,
} from './issue-input.ts';
import { bearerCredentials, type TokenSource } from './session.ts';
import {
  type CallOptions,
  isTransient,
  type PageSize,
  Transport,
  type TransportOptions,
} from './transport.ts';
import { sleep } from './waiting.ts';

export type { IssueReference } from '@tessera/contracts';
export type { FileBytes, OnProgress } from './file-transfer.ts';
export type {
  BulkChange,
  IssueChange,
  IssueDraft,
  IssueFilters,
  LinkDraft,
  RelationDraft,
  StatusChange,
  TransferOptions,
} from './issue-input.ts';
export { isProblem, type OperationId, type ProblemCode, ProblemError } from './problem-error.ts';
export { Session, type TokenSource } from './session.ts';
export type { CallOptions, TransportOptions } from './transport.ts';

export interface IssuesClientOptions extends TransportOptions {
  /** An access token, or a source of access tokens such as a `Session`. */
  token: string | TokenSource;
}

/**
 * A client of the issues service for browsers and Node. Every call throws a `ProblemError` for an error response.
 * Creations, comments, status changes and syncs send an idempotency key, so that a retry after a lost response has no
 * further effect.
 */
export class IssuesClient {
  readonly #api: Transport<typeof issuesPaths>;

  constructor({ token, ...options }: IssuesClientOptions) {
    const source: TokenSource = typeof token === 'string' ? { accessToken: async () => token } : token;
    this.#api = new Transport(issuesPaths, options, bearerCredentials(source));
  }

  /**
   * Iterates over the matching issues, newest first by default. Reads further pages on demand. With `fields`, each issue
   * has only these members.
   */
  list<Field extends IssueField = keyof IssueSummary>(
    filters: IssueFilters & PageSize & Fields<Field> = {},
    options?: CallOptions,
  ): AsyncGenerator<Pick<ListableIssue, Field>, void> {
    const pages: AsyncGenerator<unknown> = this.#api.pages('listIssues', {
      query: listQuery(filters),
      ...options,
    });
    return pages as AsyncGenerator<Pick<ListableIssue, Field>, void>;
  }

  /**
   * Reads one page of the matching issues, with their count. `cursor`: that of the `next` of the previous page, which
   * pages beyond 10,000 issues need.
   */
  async page<Field extends IssueField = keyof IssueSummary>(
    filters: PageFilters & Fields<Field> = {},
    options?: CallOptions,
  ): Promise<ListedPage<Field>> {
    const page: unknown = await this.#api.call('listIssuePages', { query: listQuery(filters), ...options });
    return page as ListedPage<Field>;
  }

  /**
   * Reads one page like `page`, with its ETag. Returns undefined if the page still has the ETag of an earlier response. For
   * polls: a page that has not changed costs little.
   */
  async pageIfChanged<Field extends IssueField = keyof IssueSummary>(
    filters: PageFilters & Fields<Field>,
    etag?: string,
    options?: CallOptions,
  ): Promise<{ page: ListedPage<Field>; etag: string } | undefined> {
    const call = { query: listQuery(filters), ...options };
    const reply = await this.#api.readIfChanged('listIssuePages', etag, call);
    return reply && { page: reply.body as ListedPage<Field>, etag: reply.etag };
  }

  get(issue: IssueReference, options?: CallOptions): Promise<Issue> {
    return this.#api.call('getIssue', { params: { id: issue }, ...options });
  }

  /** Reads an issue with its ETag. Returns undefined if the issue still has the ETag of an earlier response. */
  async getIfChanged(
    issue: IssueReference,
    etag?: string,
    options?: CallOptions,
  ): Promise<{ issue: Issue; etag: string } | undefined> {
    const reply = await this.#api.readIfChanged('getIssue', etag, { params: { id: issue }, ...options });
    return reply && { issue: reply.body, etag: reply.etag };
  }

  /**
   * Iterates over the states of an issue: the current state, then each changed state that a poll finds. An unchanged issue
   * costs a 304. A poll that fails because the service is unavailable is repeated after the interval, except for the first.
   * The iteration ends when the caller leaves it, throws the reason once the signal is aborted, and throws other errors.
   */
  async *follow(
    issue: IssueReference,
    { intervalMs = 5_000, ...options }: { intervalMs?: number } & CallOptions = {},
  ): AsyncGenerator<Issue, void> {
    assertInterval(intervalMs);
    for (let etag: string | undefined; ; await sleep(intervalMs, options.signal)) {
      const changed = await this.getIfChanged(issue, etag, options).catch((error: unknown) => {
        if (etag === undefined || !isTransient(error)) throw error;
      });
      if (changed === undefined) continue;
      etag = changed.etag;
      yield changed.issue;
    }
  }

  create(draft: IssueDraft, options?: CallOptions): Promise<Issue> {
    return this.#api.once('createIssue', { body: draft, ...options });
  }

  update(issue: IssueReference, change: IssueChange, options?: CallOptions): Promise<Issue> {
    return this.#api.call('patchIssue', { params: { id: issue }, body: change, ...options });
  }

  /**
   * Changes the status. Throws 409 `illegal_transition` with `current_status` and `allowed_transitions` if the workflow
   * does not allow it.
   */
  changeStatus(issue: IssueReference, change: StatusChange, options?: CallOptions): Promise<Issue> {
    return this.#api.once('changeIssueStatus', { params: { id: issue }, body: change, ...options });
  }

  /** Counts the matching issues by status, priority or assignee. */
  async counts<By extends CountedField>(
    by: By,
    filters: Omit<IssueFilters, 'ordering'> = {},
    options?: CallOptions,
  ): Promise<Extract<IssueCounts, { by: By }>> {
    const { ordering: _, ...query } = listQuery(filters);
    const counts = await this.#api.call('countIssues', { query: { ...query, by }, ...options });
    return counts as Extract<IssueCounts, { by: By }>;
  }

  /** Makes one change to up to 100 issues. Returns the result for each, in the same order. */
  async changeAll(
    all: readonly IssueReference[],
    change: BulkChange,
    options?: CallOptions,
  ): Promise<BulkResult[]> {
    const body = { ids: all.map(String), ...change };
    return (await this.#api.once('changeIssues', { body, ...options })).results;
  }

  /** Returns the members of an issue with their types, limits and choices. */
  describe(options?: CallOptions): Promise<IssueDescription> {
    return this.#api.call('describeIssues', { ...options });
  }

  /** Iterates over the comments of an issue, oldest first by default. */
  comments(issue: IssueReference, options: Timeline & CallOptions = {}): AsyncGenerator<Comment, void> {
    const { limit, order, ...call } = options;
    return this.#api.pages('listComments', { params: { id: issue }, query: { limit, order }, ...call });
  }

  comment(issue: IssueReference, comment: string, options?: CallOptions): Promise<Comment> {
    return this.#api.call('getComment', { params: { id: issue, comment_id: comment }, ...options });
  }

  addComment(issue: IssueReference, body: string, options?: CallOptions): Promise<Comment> {
    return this.#api.once('addComment', { params: { id: issue }, body: { body }, ...options });
  }

  /** Changes the text of an own comment. The text in the external tracker stays. */
  updateComment(
    issue: IssueReference,
    comment: string,
    body: string,
    options?: CallOptions,
  ): Promise<Comment> {
    const params = { id: issue, comment_id: comment };
    return this.#api.call('updateComment', { params, body: { body }, ...options });
  }

  /** Deletes a comment. A comment that the external tracker has stays there. */
  deleteComment(issue: IssueReference, comment: string, options?: CallOptions): Promise<void> {
    const params = { id: issue, comment_id: comment };
    return this.#api.call('deleteComment', { params, isRepeatable: true, ...options });
  }

  /** Adds a link, or updates the link with the same type and ref. */
  putLink(issue: IssueReference, link: LinkDraft, options?: CallOptions): Promise<Link> {
    return this.#api.call('putLink', { params: { id: issue }, body: link, isRepeatable: true, ...options });
  }

  deleteLink(issue: IssueReference, link: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteLink', { params: { id: issue, link_id: link }, ...options });
  }

  relations(issue: IssueReference, options?: CallOptions): Promise<Relation[]> {
    return this.#api.call('listRelations', { params: { id: issue }, ...options });
  }

  /** Relates an issue to another one. The same relation stays as it is. */
  putRelation(issue: IssueReference, relation: RelationDraft, options?: CallOptions): Promise<Relation> {
    return this.#api.call('putRelation', {
      params: { id: issue },
      body: relation,
      isRepeatable: true,
      ...options,
    });
  }

  deleteRelation(issue: IssueReference, relation: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteRelation', { params: { id: issue, relation_id: relation }, ...options });
  }

  /** Iterates over the history of an issue, oldest first by default. */
  activity(issue: IssueReference, options: Timeline & CallOptions = {}): AsyncGenerator<Activity, void> {
    const { limit, order, ...call } = options;
    return this.#api.pages('listActivity', { params: { id: issue }, query: { limit, order }, ...call });
  }

  /**
   * Iterates over the pages of the feed of events, and polls for new ones. Store `next` of a page after its events are
   * processed, and pass it as `after` to continue. If `reset` is true, events were missed: read all issues again, and
   * continue with `next`. Ends and fails like `follow`.
   */
  events(options: EventOptions = {}): AsyncGenerator<EventFeedPage<IssueEvent>, void> {
    return followEvents((call) => this.#api.call('listEvents', call), options);
  }

  /** Returns whether the calling user watches an issue. */
  watchState(issue: IssueReference, options?: CallOptions): Promise<Watching> {
    return this.#api.call('getWatching', { params: { id: issue }, ...options });
  }

  /**
   * Uploads a file of at most 25 MiB. Its `markdown` in a description or a comment shows it, and makes it a file of that issue; `issue`
   * does so at once. `onProgress` is for Node: in a browser, use `XMLHttpRequest`, which tells it.
   */
  async upload(
    name: string,
    bytes: FileBytes,
    { issue, onProgress, ...options }: TransferOptions & { issue?: IssueReference } = {},
  ): Promise<Attachment> {
    const file = bytes instanceof Blob ? bytes : new Blob([bytes]);
    const query = { name, ...(issue === undefined ? {} : { issue: String(issue) }) };
    const headers = await digestHeader(file);
    return this.#api.once('uploadAttachment', {
      query,
      headers,
      transfer: sending(file, onProgress),
      ...options,
    });
  }

  /** Reads what is known of a file. */
  attachment(id: string, options?: CallOptions): Promise<Attachment> {
    return this.#api.call('getAttachment', { params: { attachment_id: id }, ...options });
  }

  /** Downloads a file, with its type. */
  async download(id: string, { onProgress, ...options }: TransferOptions = {}): Promise<Blob> {
    const call = { params: { attachment_id: id }, transfer: receiving(onProgress), ...options };
    const { body } = await this.#api.send('getAttachmentContent', call);
    return body as unknown as Blob;
  }

  /** Deletes a file; for the user who uploaded it, and for staff. */
  deleteAttachment(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteAttachment', {
      params: { attachment_id: id },
      isRepeatable: true,
      ...options,
    });
  }

  /** Lists the files of an issue, the oldest first. */
  attachments(issue: IssueReference, options?: CallOptions): Promise<Attachment[]> {
    return this.#api.call('listAttachments', { params: { id: issue }, ...options });
  }

  watch(issue: IssueReference, options?: CallOptions): Promise<Watching> {
    return this.#api.call('startWatching', { params: { id: issue }, isRepeatable: true, ...options });
  }

  /** Stops watching an issue, until the calling user watches it again. */
  unwatch(issue: IssueReference, options?: CallOptions): Promise<void> {
    return this.#api.call('stopWatching', { params: { id: issue }, isRepeatable: true, ...options });
  }

  /** Iterates over the issues that the calling user watches, the last watched first. */
  watching({ limit, ...call }: PageSize & CallOptions = {}): AsyncGenerator<WatchedIssue, void> {
    return this.#api.pages('listWatching', { query: { limit }, ...call });
  }

  /** Iterates over the notifications of the calling user, the newest first. */
  notifications({
    limit,
    unread,
    state,
    reason,
    issue,
    ...call
  }: NotificationFilters & PageSize & CallOptions = {}): AsyncGenerator<Notification, void> {
    const query = { limit, unread, state, reason, issue };
    return this.#api.pages('listNotifications', { query, ...call });
  }

  /**
   * Reads one page of the notifications, with the number of all unread ones. Returns undefined if both still have the ETag
   * of an earlier response. For polls.
   */
  async notificationsIfChanged(
    filters: NotificationFilters & PageSize = {},
    etag?: string,
    options?: CallOptions,
  ): Promise<{ notifications: Notification[]; unreadCount: number; etag: string } | undefined> {
    const { limit, unread, state, reason, issue } = filters;
    const call = { query: { limit, unread, state, reason, issue }, ...options };
    const reply = await this.#api.readIfChanged('listNotifications', etag, call);
    if (reply === undefined) return undefined;
    const unreadCount = Number(reply.headers.get('X-Unread-Count'));
    return { notifications: reply.body, unreadCount, etag: reply.etag };
  }

  /**
   * Marks up to 100 notifications as read, or with `up_to` that notification and all earlier ones. Returns the number of
   * unread ones.
   */
  async markRead(marked: readonly number[] | { up_to: number }, options?: CallOptions): Promise<number> {
    const body = 'up_to' in marked ? marked : { ids: marked };
    const call = { body, isRepeatable: true, ...options };
    return (await this.#api.call('markNotificationsRead', call)).unread_count;
  }

  /** Marks up to 100 notifications as unread. Returns the number of unread ones. */
  async markUnread(ids: readonly number[], options?: CallOptions): Promise<number> {
    const call = { body: { ids }, isRepeatable: true, ...options };
    return (await this.#api.call('markNotificationsUnread', call)).unread_count;
  }

  /** Takes up to 100 notifications out of the inbox. Returns the number of unread ones. */
  async markDone(ids: readonly number[], options?: CallOptions): Promise<number> {
    const call = { body: { ids }, isRepeatable: true, ...options };
    return (await this.#api.call('markNotificationsDone', call)).unread_count;
  }

  /** Brings up to 100 notifications that are done or snoozed back to the inbox. Returns the number of unread ones. */
  async restoreNotifications(ids: readonly number[], options?: CallOptions): Promise<number> {
    const call = { body: { ids }, isRepeatable: true, ...options };
    return (await this.#api.call('restoreNotifications', call)).unread_count;
  }

  /** Hides up to 100 notifications until a time. Returns the number of unread ones. */
  async snooze(ids: readonly number[], until: Date | string, options?: CallOptions): Promise<number> {
    const body = { ids, until: typeof until === 'string' ? until : until.toISOString() };
    const call = { body, isRepeatable: true, ...options };
    return (await this.#api.call('snoozeNotifications', call)).unread_count;
  }

  /** Returns all labels, sorted by name. */
  labels(options?: CallOptions): Promise<Label[]> {
    return this.#api.call('listLabels', { ...options });
  }

  label(id: string, options?: CallOptions): Promise<Label> {
    return this.#api.call('getLabel', { params: { id }, ...options });
  }

  /** Creates a label. Throws 409 `label_exists` with the existing `label` if the name is taken. */
  createLabel(
    label: Pick<CreateLabel, 'name'> & Partial<CreateLabel>,
    options?: CallOptions,
  ): Promise<Label> {
    return this.#api.once('createLabel', { body: label, ...options });
  }

  updateLabel(id: string, change: UpdateLabel, options?: CallOptions): Promise<Label> {
    return this.#api.call('updateLabel', { params: { id }, body: change, ...options });
  }

  deleteLabel(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteLabel', { params: { id }, ...options });
  }

  /** Returns all projects: the default one first, then by key. */
  projects(options?: CallOptions): Promise<Project[]> {
    return this.#api.call('listProjects', { ...options });
  }

  /** Returns the project that has or had a key. */
  project(key: string, options?: CallOptions): Promise<Project> {
    return this.#api.call('getProject', { params: { key }, ...options });
  }

  /** Creates a project. Throws 409 `project_key_taken` if a project has or had the key. */
  createProject(project: CreateProject, options?: CallOptions): Promise<Project> {
    return this.#api.once('createProject', { body: project, ...options });
  }

  updateProject(key: string, change: UpdateProject, options?: CallOptions): Promise<Project> {
    return this.#api.call('updateProject', { params: { key }, body: change, ...options });
  }

  /** Iterates over the members of a project, by the id of the person. */
  projectMembers(
    key: string,
    { limit, ...call }: PageSize & CallOptions = {},
  ): AsyncGenerator<ProjectMember, void> {
    return this.#api.pages('listProjectMembers', { params: { key }, query: { limit }, ...call });
  }

  /** Makes a person a member of a project, or changes the role. Throws 409 `last_manager` if the project would have no manager. */
  putProjectMember(
    key: string,
    userId: string,
    role: ProjectRole,
    options?: CallOptions,
  ): Promise<ProjectMember> {
    const params = { key, user_id: userId };
    return this.#api.call('putProjectMember', { params, body: { role }, isRepeatable: true, ...options });
  }

  /** Removes a member of a project. */
  removeProjectMember(key: string, userId: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteProjectMember', { params: { key, user_id: userId }, ...options });
  }

  /** Iterates over the history of a project, the newest first. */
  projectHistory(
    key: string,
    { limit, ...call }: PageSize & CallOptions = {},
  ): AsyncGenerator<ProjectActivity, void> {
    return this.#api.pages('listProjectActivity', { params: { key }, query: { limit }, ...call });
  }

  /** Moves an issue to the project with a key. All its former keys lead to it. */
  move(issue: IssueReference, project: string, options?: CallOptions): Promise<Issue> {
    return this.#api.once('moveIssue', { params: { id: issue }, body: { project }, ...options });
  }

  /** Returns the views of the caller, the oldest first, then those that other people share. */
  views(options?: CallOptions): Promise<View[]> {
    return this.#api.call('listViews', { ...options });
  }

  view(id: string, options?: CallOptions): Promise<View> {
    return this.#api.call('getView', { params: { id }, ...options });
  }

  /** Saves the filters and the order of a list, as in its URL, under a name. */
  createView(
    view: Pick<CreateView, 'name' | 'query'> & Partial<CreateView>,
    options?: CallOptions,
  ): Promise<View> {
    return this.#api.once('createView', { body: view, ...options });
  }

  updateView(id: string, change: UpdateView, options?: CallOptions): Promise<View> {
    return this.#api.call('updateView', { params: { id }, body: change, ...options });
  }

  deleteView(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteView', { params: { id }, ...options });
  }

  /** Returns all endpoints of webhooks, the oldest first. All operations on endpoints are for staff. */
  webhooks(options?: CallOptions): Promise<Webhook[]> {
    return this.#api.call('listWebhooks', { ...options });
  }

  webhook(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#api.call('getWebhook', { params: { id }, ...options });
  }

  /** Creates an endpoint. Store `secret`: only this response and that of a rotation have it. Never sent twice. */
  createWebhook(
    webhook: Pick<CreateWebhook, 'url'> & Partial<CreateWebhook>,
    options?: CallOptions,
  ): Promise<WebhookWithSecret> {
    return this.#api.call('createWebhook', { body: webhook, ...options });
  }

  updateWebhook(id: string, change: UpdateWebhook, options?: CallOptions): Promise<Webhook> {
    return this.#api.call('updateWebhook', { params: { id }, body: change, ...options });
  }

  deleteWebhook(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deleteWebhook', { params: { id }, ...options });
  }

  /** Replaces the secret. The previous one signs, too, for a day. */
  rotateWebhookSecret(id: string, options?: CallOptions): Promise<WebhookWithSecret> {
    return this.#api.call('rotateWebhookSecret', { params: { id }, ...options });
  }

  testWebhook(id: string, options?: CallOptions): Promise<WebhookDelivery> {
    return this.#api.call('testWebhook', { params: { id }, ...options });
  }

  /** Iterates over the deliveries of an endpoint, the newest first. */
  webhookDeliveries(
    id: string,
    { limit, state, ...call }: { state?: DeliveryState } & PageSize & CallOptions = {},
  ): AsyncGenerator<WebhookDelivery, void> {
    return this.#api.pages('listWebhookDeliveries', { params: { id }, query: { limit, state }, ...call });
  }

  webhookDelivery(id: string, delivery: number, options?: CallOptions): Promise<WebhookDeliveryDetails> {
    return this.#api.call('getWebhookDelivery', { params: { id, delivery_id: delivery }, ...options });
  }

  redeliverWebhook(id: string, delivery: number, options?: CallOptions): Promise<WebhookDelivery> {
    return this.#api.call('redeliverWebhook', { params: { id, delivery_id: delivery }, ...options });
  }

  /** Returns the sync state with both values of each conflict. */
  syncState(issue: IssueReference, options?: CallOptions): Promise<SyncReport> {
    return this.#api.call('getSyncState', { params: { id: issue }, ...options });
  }

  sync(issue: IssueReference, options?: CallOptions): Promise<Issue> {
    return this.#api.once('syncIssue', { params: { id: issue }, ...options });
  }

  resolveConflict(
    issue: IssueReference,
    conflict: string,
    keep: 'local' | 'remote',
    options?: CallOptions,
  ): Promise<Issue> {
    const params = { id: issue, conflict_id: conflict };
    return this.#api.call('resolveSyncConflict', { params, body: { keep }, ...options });
  }

  /** Attaches an issue of the tracker. `id`: its number in the tracker. */
  attachExternal(issue: IssueReference, id: string | number, options?: CallOptions): Promise<Issue> {
    return this.#api.call('attachExternalIssue', { params: { id: issue }, body: { id }, ...options });
  }

  detachExternal(issue: IssueReference, options?: CallOptions): Promise<Issue> {
    return this.#api.call('detachExternalIssue', { params: { id: issue }, ...options });
  }

  /** Checks whether syncs can work. Returns the problems and their solutions. */
  integrations(options?: CallOptions): Promise<Integration[]> {
    return this.#api.call('listIntegrations', { ...options });
  }

  retrySyncs(
    filter: Partial<RetrySyncs> & Pick<RetrySyncs, 'sync'>,
    options?: CallOptions,
  ): Promise<RetriedSyncs> {
    return this.#api.call('retrySyncs', { body: filter, isRepeatable: true, ...options });
  }

  /** Starts an import of the tracker's issues, or continues the running one. */
  async startImport(options?: CallOptions): Promise<Import> {
    return (await this.#api.call('importIssues', { isRepeatable: true, ...options })) as Import;
  }

  /** Returns the effects that an import of one page would have. `cursor`: the `next` of the previous page. */
  async previewImport(cursor?: string, options?: CallOptions): Promise<ImportPreview> {
    const call = { query: { dry_run: true, cursor }, isRepeatable: true, ...options };
    return (await this.#api.call('importIssues', call)) as ImportPreview;
  }

  /** Returns the progress of the last import. */
  importState(options?: CallOptions): Promise<Import> {
    return this.#api.call('getImport', { ...options });
  }

  /** Makes issues due that were never synced; with `dry_run` only lists them. */
  backfill(
    { limit, dry_run }: { limit?: number; dry_run?: boolean } = {},
    options?: CallOptions,
  ): Promise<Backfilled> {
    const body = limit === undefined ? {} : { limit };
    return this.#api.call('backfillSyncs', { query: { dry_run }, body, isRepeatable: true, ...options });
  }

  /**
   * Iterates over the users, for the choice of an assignee. The words of `search` are prefixes of words of the names
   * and, for staff, of the e-mail address. The people of `issue` come first.
   */
  users(
    filters: {
      search?: string;
      is_active?: boolean;
      /** From 1 to 100 ids; an empty array is refused. */
      ids?: readonly string[];
      issue?: IssueReference;
      /** Only people who may read this issue. */
      can_read?: IssueReference;
    } & PageSize = {},
    options?: CallOptions,
  ): AsyncGenerator<User | FullUser, void> {
    return this.#api.pages('listUsers', { query: { ...filters, ids: filters.ids?.join() }, ...options });
  }

  /** Returns the calling user. */
  me(options?: CallOptions): Promise<FullUser> {
    return this.#api.call('getMe', { ...options });
  }

  /** Changes the display name of the calling user; null removes it. */
  rename(name: string | null, options?: CallOptions): Promise<FullUser> {
    return this.#api.call('updateMe', { body: { name }, ...options });
  }

  /** Changes the password of the calling user. All sessions of the user end: sign in again. */
  changePassword(current_password: string, new_password: string, options?: CallOptions): Promise<void> {
    return this.#api.call('changeMyPassword', { body: { current_password, new_password }, ...options });
  }

  user(id: string, options?: CallOptions): Promise<User | FullUser> {
    return this.#api.call('getUser', { params: { id }, ...options });
  }

  createUser(user: UserInput & { email: string }, options?: CallOptions): Promise<FullUser> {
    return this.#api.call('createUser', { body: user, ...options });
  }

  updateUser(id: string, change: UserInput, options?: CallOptions): Promise<FullUser> {
    return this.#api.call('updateUser', { params: { id }, body: change, ...options });
  }

  deactivateUser(id: string, options?: CallOptions): Promise<void> {
    return this.#api.call('deactivateUser', { params: { id }, ...options });
  }
}

function listQuery<Filters extends IssueFilters>({ id, ordering, ...query }: Filters) {
  return { ...query, id: id?.join(','), ordering: ordering?.join(',') || undefined };
}
