import type {
  Activity,
  addComment,
  attachExternalIssue,
  BulkResult,
  backfillSyncs,
  Comment,
  CountedField,
  CreateLabel,
  CreateWebhook,
  changeIssueStatus,
  changeIssues,
  createIssue,
  createLabel,
  createUser,
  createWebhook,
  DeliveryState,
  describeIssues,
  detachExternalIssue,
  EventFeedPage,
  FullUser,
  getComment,
  getImport,
  getIssue,
  getLabel,
  getMe,
  getSyncState,
  getUser,
  getWatching,
  getWebhook,
  getWebhookDelivery,
  Import,
  ImportPreview,
  Issue,
  IssueCounts,
  IssueEvent,
  IssueField,
  IssuePage,
  IssuePriority,
  IssueStatus,
  IssueSummary,
  Label,
  LinkRelation,
  LinkType,
  listIntegrations,
  listLabels,
  listWebhooks,
  markNotificationsRead,
  Notification,
  NotificationReason,
  Operation,
  OrderingField,
  PersonInput,
  patchIssue,
  putLink,
  ResponseBodyOf,
  RetrySyncs,
  redeliverWebhook,
  resolveSyncConflict,
  retrySyncs,
  rotateWebhookSecret,
  startWatching,
  syncIssue,
  TimelineOrder,
  testWebhook,
  UpdateLabel,
  UpdateWebhook,
  User,
  updateComment,
  updateLabel,
  updateMe,
  updateUser,
  updateWebhook,
  WatchedIssue,
  Webhook,
  WebhookDelivery,
  WebhookDeliveryDetails,
  WebhookWithSecret,
} from '@tessera/contracts';
import { assertInterval, type EventOptions, followEvents } from './event-feed.ts';
import type { UserInput } from './identity-input.ts';
import { bearerCredentials, type TokenSource } from './session.ts';
import {
  type Call,
  type CallOptions,
  isTransient,
  type PageSize,
  pathSegment,
  type Query,
  sleep,
  Transport,
  type TransportOptions,
} from './transport.ts';

export { isProblem, type OperationId, type ProblemCode, ProblemError } from './problem-error.ts';
export { Session, type TokenSource } from './session.ts';
export type { CallOptions, TransportOptions } from './transport.ts';

export interface IssuesClientOptions extends TransportOptions {
  /** An access token, or a source of access tokens such as a `Session`. */
  token: string | TokenSource;
}

type Assignee = 'me' | 'none' | (string & {});

/** The filters and the order of a list of issues. */
export interface IssueFilters {
  /** From 1 to 100 issues. An empty array is refused, whereas an empty array of another filter is ignored. */
  id?: readonly IssueReference[];
  status?: readonly IssueStatus[];
  priority?: readonly IssuePriority[];
  /** Excludes issues with these statuses. */
  '-status'?: readonly IssueStatus[];
  /** Ids of users, or of a single user. */
  assignee?: Assignee | readonly Assignee[];
  reporter?: 'me' | (string & {});
  /** `<type>:<ref>`, such as `invoice:2024-17`. */
  link?: `${LinkType}:${string}`;
  /** `<provider>:<id>`, such as `redmine:17`. */
  external?: `${string}:${string}`;
  /** Names of labels. Matches issues with all of these labels. */
  label?: readonly string[];
  sync?: RetrySyncs['sync'];
  is_open?: boolean;
  created_after?: Date | string;
  created_before?: Date | string;
  updated_after?: Date | string;
  updated_before?: Date | string;
  /**
   * Search text with words, "phrases", -excluded words and `or`. The last word may be a beginning of three letters or more.
   * If it is a key or a number, the issue with that number is first.
   */
  search?: string;
  ordering?: readonly (OrderingField | `-${OrderingField}`)[];
}

/** The members of each listed issue; all by default. */
interface Fields<Field extends IssueField> {
  fields?: readonly Field[];
}

interface PageFilters extends IssueFilters {
  page?: number;
  page_size?: number;
  cursor?: string;
}

type ListedPage<Field extends IssueField> = Omit<IssuePage, 'results'> & {
  results: Pick<IssueSummary, Field>[];
};

interface Timeline extends PageSize {
  order?: TimelineOrder;
}

export interface LinkDraft {
  type: LinkType;
  /** The immutable id in the other system. For a user: a UUID, an e-mail address, or an object. */
  ref: string | PersonInput;
  title?: string | null;
  url?: string | null;
  relation?: LinkRelation;
  metadata?: Readonly<Record<string, unknown>> | null;
}

/** At most one of `assignee_id` and `assignee_email`. */
interface IssueMembers {
  /** Plain text or Markdown. */
  description?: string | null;
  priority?: IssuePriority;
  assignee_id?: string | null;
  assignee_email?: string;
  /** The complete list, which replaces the current links. */
  links?: readonly LinkDraft[];
  /** The complete list: names of existing labels, or labels of a response, which are found by id. */
  labels?: readonly (string | { readonly id: string })[];
}

export interface IssueDraft extends IssueMembers {
  title: string;
}

/** A change of an issue. Omitted members stay unchanged. */
export interface IssueChange extends IssueMembers {
  title?: string;
  /**
   * The version on which the change is based. If it is not the current version, the response is 409 `version_conflict`.
   */
  version?: number;
}

export interface StatusChange {
  status: IssueStatus;
  /** A comment that is added with the change. */
  comment?: string;
  version?: number;
}

interface BulkMembers {
  status: IssueStatus;
  priority: IssuePriority;
  assignee_id: string | null;
  labels: { add?: LabelReferences; remove?: LabelReferences };
}

/** A change of many issues: exactly one of the members. */
export type BulkChange = {
  [Name in keyof BulkMembers]: Pick<BulkMembers, Name> & {
    [Other in Exclude<keyof BulkMembers, Name>]?: never;
  };
}[keyof BulkMembers];

/** Names of existing labels, or labels of a response, which are found by id. */
type LabelReferences = readonly (string | { readonly id: string })[];

interface NotificationFilters {
  /** Whether to list unread or read notifications; both by default. */
  unread?: boolean;
  reason?: readonly NotificationReason[];
  issue?: IssueReference;
}

/** An id, a key such as `ISS-42`, or a number. */
export type IssueReference = string | number;

const issues = '/api/v1/issues/';
const labels = '/api/v1/labels/';
const notifications = '/api/v1/notifications/';
const users = '/api/v1/users/';
const webhooks = '/api/v1/webhooks/';

/**
 * A client of the issues service for browsers and Node. Every call throws a `ProblemError` for an error response.
 * Creations, comments, status changes and syncs send an idempotency key, so that a retry after a lost response has no
 * further effect.
 */
export class IssuesClient {
  readonly #transport: Transport;

  constructor({ token, ...options }: IssuesClientOptions) {
    const source: TokenSource = typeof token === 'string' ? { accessToken: async () => token } : token;
    this.#transport = new Transport(options, bearerCredentials(source));
  }

  /**
   * Iterates over the matching issues, newest first by default. Reads further pages on demand. With `fields`, each issue
   * has only these members.
   */
  list<Field extends IssueField = IssueField>(
    filters: IssueFilters & PageSize & Fields<Field> = {},
    options?: CallOptions,
  ): AsyncGenerator<Pick<IssueSummary, Field>, void> {
    return this.#transport.pages(issues, listQuery(filters), options);
  }

  /**
   * Reads one page of the matching issues, with their count. `cursor`: that of the `next` of the previous page, which
   * pages beyond 10,000 issues need.
   */
  async page<Field extends IssueField = IssueField>(
    filters: PageFilters & Fields<Field> = {},
    options?: CallOptions,
  ): Promise<ListedPage<Field>> {
    return (await this.#transport.send({ ...pageCall(filters), ...options })).body as ListedPage<Field>;
  }

  /**
   * Reads one page like `page`, with its ETag. Returns undefined if the page still has the ETag of an earlier response. For
   * polls: a page that has not changed costs little.
   */
  async pageIfChanged<Field extends IssueField = IssueField>(
    filters: PageFilters & Fields<Field>,
    etag?: string,
    options?: CallOptions,
  ): Promise<{ page: ListedPage<Field>; etag: string } | undefined> {
    const headers = etag === undefined ? {} : { 'If-None-Match': etag };
    const reply = await this.#transport.send({ ...pageCall(filters), headers, ...options });
    if (reply.body === undefined) return undefined;
    return { page: reply.body as ListedPage<Field>, etag: reply.headers.get('ETag') ?? '' };
  }

  get(issue: IssueReference, options?: CallOptions): Promise<Issue> {
    return this.#call<typeof getIssue>({ method: 'GET', path: pathOf(issue), ...options });
  }

  /** Reads an issue with its ETag. Returns undefined if the issue still has the ETag of an earlier response. */
  async getIfChanged(
    issue: IssueReference,
    etag?: string,
    options?: CallOptions,
  ): Promise<{ issue: Issue; etag: string } | undefined> {
    const headers = etag === undefined ? {} : { 'If-None-Match': etag };
    const reply = await this.#transport.send({ method: 'GET', path: pathOf(issue), headers, ...options });
    if (reply.body === undefined) return undefined;
    return { issue: reply.body as Issue, etag: reply.headers.get('ETag') ?? '' };
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
    return this.#once<typeof createIssue>({ method: 'POST', path: issues, body: draft, ...options });
  }

  update(issue: IssueReference, change: IssueChange, options?: CallOptions): Promise<Issue> {
    return this.#call<typeof patchIssue>({
      method: 'PATCH',
      path: pathOf(issue),
      body: change,
      ...options,
    });
  }

  /**
   * Changes the status. Throws 409 `illegal_transition` with `current_status` and `allowed_transitions` if the workflow
   * does not allow it.
   */
  changeStatus(issue: IssueReference, change: StatusChange, options?: CallOptions): Promise<Issue> {
    return this.#once<typeof changeIssueStatus>({
      method: 'POST',
      path: pathOf(issue, 'status/'),
      body: change,
      ...options,
    });
  }

  /** Counts the matching issues by status, priority or assignee. */
  async counts<By extends CountedField>(
    by: By,
    filters: Omit<IssueFilters, 'ordering'> = {},
    options?: CallOptions,
  ): Promise<Extract<IssueCounts, { by: By }>> {
    const query = { ...listQuery(filters), by };
    const call: Call = { method: 'GET', path: `${issues}counts/`, query, ...options };
    return (await this.#transport.send(call)).body as Extract<IssueCounts, { by: By }>;
  }

  /** Makes one change to up to 100 issues. Returns the result for each, in the same order. */
  async changeAll(
    all: readonly IssueReference[],
    change: BulkChange,
    options?: CallOptions,
  ): Promise<BulkResult[]> {
    const { results } = await this.#once<typeof changeIssues>({
      method: 'POST',
      path: `${issues}bulk/`,
      body: { ids: all.map(String), ...change },
      ...options,
    });
    return results;
  }

  /** Returns the members of an issue with their types, limits and choices. */
  describe(options?: CallOptions): Promise<ResponseBodyOf<typeof describeIssues>> {
    return this.#call<typeof describeIssues>({ method: 'OPTIONS', path: issues, ...options });
  }

  /** Iterates over the comments of an issue, oldest first by default. */
  comments(issue: IssueReference, options: Timeline & CallOptions = {}): AsyncGenerator<Comment, void> {
    const { limit, order, ...call } = options;
    return this.#transport.pages(pathOf(issue, 'comments/'), { limit, order }, call);
  }

  comment(issue: IssueReference, comment: string, options?: CallOptions): Promise<Comment> {
    return this.#call<typeof getComment>({
      method: 'GET',
      path: pathOf(issue, `comments/${pathSegment(comment)}/`),
      ...options,
    });
  }

  addComment(issue: IssueReference, body: string, options?: CallOptions): Promise<Comment> {
    return this.#once<typeof addComment>({
      method: 'POST',
      path: pathOf(issue, 'comments/'),
      body: { body },
      ...options,
    });
  }

  /** Changes the text of an own comment. The text in the external tracker stays. */
  updateComment(
    issue: IssueReference,
    comment: string,
    body: string,
    options?: CallOptions,
  ): Promise<Comment> {
    return this.#call<typeof updateComment>({
      method: 'PATCH',
      path: pathOf(issue, `comments/${pathSegment(comment)}/`),
      body: { body },
      ...options,
    });
  }

  /** Deletes a comment. A comment that the external tracker has stays there. */
  async deleteComment(issue: IssueReference, comment: string, options?: CallOptions): Promise<void> {
    const path = pathOf(issue, `comments/${pathSegment(comment)}/`);
    await this.#transport.send({ method: 'DELETE', path, isRepeatable: true, ...options });
  }

  /** Adds a link, or updates the link with the same type and ref. */
  putLink(
    issue: IssueReference,
    link: LinkDraft,
    options?: CallOptions,
  ): Promise<ResponseBodyOf<typeof putLink>> {
    return this.#call<typeof putLink>({
      method: 'POST',
      path: pathOf(issue, 'links/'),
      body: link,
      isRepeatable: true,
      ...options,
    });
  }

  async deleteLink(issue: IssueReference, link: string, options?: CallOptions): Promise<void> {
    const path = pathOf(issue, `links/${pathSegment(link)}/`);
    await this.#transport.send({ method: 'DELETE', path, ...options });
  }

  /** Iterates over the history of an issue, oldest first by default. */
  activity(issue: IssueReference, options: Timeline & CallOptions = {}): AsyncGenerator<Activity, void> {
    const { limit, order, ...call } = options;
    return this.#transport.pages(pathOf(issue, 'activity/'), { limit, order }, call);
  }

  /**
   * Iterates over the pages of the feed of events, and polls for new ones. Store `next` of a page after its events are
   * processed, and pass it as `after` to continue. If `reset` is true, events were missed: read all issues again, and
   * continue with `next`. Ends and fails like `follow`.
   */
  events(options: EventOptions = {}): AsyncGenerator<EventFeedPage<IssueEvent>, void> {
    return followEvents(this.#transport, '/api/v1/events/', options);
  }

  /** Returns whether the calling user watches an issue. */
  watchState(issue: IssueReference, options?: CallOptions): Promise<ResponseBodyOf<typeof getWatching>> {
    return this.#call<typeof getWatching>({ method: 'GET', path: pathOf(issue, 'watch/'), ...options });
  }

  watch(issue: IssueReference, options?: CallOptions): Promise<ResponseBodyOf<typeof startWatching>> {
    return this.#call<typeof startWatching>({
      method: 'PUT',
      path: pathOf(issue, 'watch/'),
      isRepeatable: true,
      ...options,
    });
  }

  /** Stops watching an issue, until the calling user watches it again. */
  async unwatch(issue: IssueReference, options?: CallOptions): Promise<void> {
    const path = pathOf(issue, 'watch/');
    await this.#transport.send({ method: 'DELETE', path, isRepeatable: true, ...options });
  }

  /** Iterates over the issues that the calling user watches, the last watched first. */
  watching(options: PageSize & CallOptions = {}): AsyncGenerator<WatchedIssue, void> {
    const { limit, ...call } = options;
    return this.#transport.pages(`${users}me/watching/`, { limit }, call);
  }

  /** Iterates over the notifications of the calling user, the newest first. */
  notifications({
    limit,
    unread,
    reason,
    issue,
    ...call
  }: NotificationFilters & PageSize & CallOptions = {}): AsyncGenerator<Notification, void> {
    return this.#transport.pages(notifications, { limit, unread, reason, issue: textOf(issue) }, call);
  }

  /**
   * Reads one page of the notifications, with the number of all unread ones. Returns undefined if both still have the ETag
   * of an earlier response. For polls.
   */
  async notificationsIfChanged(
    { limit, unread, reason, issue }: NotificationFilters & PageSize = {},
    etag?: string,
    options?: CallOptions,
  ): Promise<{ notifications: Notification[]; unreadCount: number; etag: string } | undefined> {
    const headers = etag === undefined ? {} : { 'If-None-Match': etag };
    const query = { limit, unread, reason, issue: textOf(issue) };
    const reply = await this.#transport.send({
      method: 'GET',
      path: notifications,
      query,
      headers,
      ...options,
    });
    if (reply.body === undefined) return undefined;
    return {
      notifications: reply.body as Notification[],
      unreadCount: Number(reply.headers.get('X-Unread-Count')),
      etag: reply.headers.get('ETag') ?? '',
    };
  }

  /**
   * Marks up to 100 notifications as read, or with `up_to` that notification and all earlier ones. Returns the number of
   * unread ones.
   */
  async markRead(marked: readonly number[] | { up_to: number }, options?: CallOptions): Promise<number> {
    const body = 'up_to' in marked ? marked : { ids: marked };
    return this.#mark('read', body, options);
  }

  /** Marks up to 100 notifications as unread. Returns the number of unread ones. */
  async markUnread(ids: readonly number[], options?: CallOptions): Promise<number> {
    return this.#mark('unread', { ids }, options);
  }

  async #mark(state: 'read' | 'unread', body: object, options?: CallOptions): Promise<number> {
    const path = `${notifications}${state}/`;
    const call = { method: 'POST' as const, path, body, isRepeatable: true, ...options };
    return (await this.#call<typeof markNotificationsRead>(call)).unread_count;
  }

  /** Returns all labels, sorted by name. */
  labels(options?: CallOptions): Promise<ResponseBodyOf<typeof listLabels>> {
    return this.#call<typeof listLabels>({ method: 'GET', path: labels, ...options });
  }

  label(id: string, options?: CallOptions): Promise<ResponseBodyOf<typeof getLabel>> {
    return this.#call<typeof getLabel>({ method: 'GET', path: labelPath(id), ...options });
  }

  /** Creates a label. Throws 409 `label_exists` with the existing `label` if the name is taken. */
  createLabel(
    label: Pick<CreateLabel, 'name'> & Partial<CreateLabel>,
    options?: CallOptions,
  ): Promise<Label> {
    return this.#once<typeof createLabel>({ method: 'POST', path: labels, body: label, ...options });
  }

  updateLabel(id: string, change: UpdateLabel, options?: CallOptions): Promise<Label> {
    return this.#call<typeof updateLabel>({ method: 'PATCH', path: labelPath(id), body: change, ...options });
  }

  async deleteLabel(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'DELETE', path: labelPath(id), ...options });
  }

  /** Returns all endpoints of webhooks, the oldest first. All operations on endpoints are for staff. */
  webhooks(options?: CallOptions): Promise<ResponseBodyOf<typeof listWebhooks>> {
    return this.#call<typeof listWebhooks>({ method: 'GET', path: webhooks, ...options });
  }

  webhook(id: string, options?: CallOptions): Promise<Webhook> {
    return this.#call<typeof getWebhook>({ method: 'GET', path: webhookPath(id), ...options });
  }

  /** Creates an endpoint. Store `secret`: only this response and that of a rotation have it. Never sent twice. */
  createWebhook(
    webhook: Pick<CreateWebhook, 'url'> & Partial<CreateWebhook>,
    options?: CallOptions,
  ): Promise<WebhookWithSecret> {
    return this.#call<typeof createWebhook>({ method: 'POST', path: webhooks, body: webhook, ...options });
  }

  updateWebhook(id: string, change: UpdateWebhook, options?: CallOptions): Promise<Webhook> {
    const call = { method: 'PATCH' as const, path: webhookPath(id), body: change, ...options };
    return this.#call<typeof updateWebhook>(call);
  }

  async deleteWebhook(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'DELETE', path: webhookPath(id), ...options });
  }

  /** Replaces the secret. The previous one signs, too, for a day. */
  rotateWebhookSecret(id: string, options?: CallOptions): Promise<WebhookWithSecret> {
    const call = { method: 'POST' as const, path: webhookPath(id, 'rotate-secret/'), ...options };
    return this.#call<typeof rotateWebhookSecret>(call);
  }

  testWebhook(id: string, options?: CallOptions): Promise<WebhookDelivery> {
    return this.#call<typeof testWebhook>({ method: 'POST', path: webhookPath(id, 'test/'), ...options });
  }

  /** Iterates over the deliveries of an endpoint, the newest first. */
  webhookDeliveries(
    id: string,
    { limit, state, ...call }: { state?: DeliveryState } & PageSize & CallOptions = {},
  ): AsyncGenerator<WebhookDelivery, void> {
    return this.#transport.pages(webhookPath(id, 'deliveries/'), { limit, state }, call);
  }

  webhookDelivery(id: string, delivery: number, options?: CallOptions): Promise<WebhookDeliveryDetails> {
    const path = webhookPath(id, `deliveries/${delivery}/`);
    return this.#call<typeof getWebhookDelivery>({ method: 'GET', path, ...options });
  }

  redeliverWebhook(id: string, delivery: number, options?: CallOptions): Promise<WebhookDelivery> {
    const path = webhookPath(id, `deliveries/${delivery}/redeliver/`);
    return this.#call<typeof redeliverWebhook>({ method: 'POST', path, ...options });
  }

  /** Returns the sync state with both values of each conflict. */
  syncState(issue: IssueReference, options?: CallOptions): Promise<ResponseBodyOf<typeof getSyncState>> {
    return this.#call<typeof getSyncState>({ method: 'GET', path: pathOf(issue, 'sync/'), ...options });
  }

  sync(issue: IssueReference, options?: CallOptions): Promise<Issue> {
    return this.#once<typeof syncIssue>({ method: 'POST', path: pathOf(issue, 'sync/'), ...options });
  }

  resolveConflict(
    issue: IssueReference,
    conflict: string,
    keep: 'local' | 'remote',
    options?: CallOptions,
  ): Promise<Issue> {
    return this.#call<typeof resolveSyncConflict>({
      method: 'POST',
      path: pathOf(issue, `sync/conflicts/${pathSegment(conflict)}/`),
      body: { keep },
      ...options,
    });
  }

  /** Attaches an issue of the tracker. `id`: its number in the tracker. */
  attachExternal(issue: IssueReference, id: string | number, options?: CallOptions): Promise<Issue> {
    return this.#call<typeof attachExternalIssue>({
      method: 'PUT',
      path: pathOf(issue, 'external/'),
      body: { id },
      ...options,
    });
  }

  detachExternal(issue: IssueReference, options?: CallOptions): Promise<Issue> {
    return this.#call<typeof detachExternalIssue>({
      method: 'DELETE',
      path: pathOf(issue, 'external/'),
      ...options,
    });
  }

  /** Checks whether syncs can work. Returns the problems and their solutions. */
  integrations(options?: CallOptions): Promise<ResponseBodyOf<typeof listIntegrations>> {
    return this.#call<typeof listIntegrations>({ method: 'GET', path: '/api/v1/integrations/', ...options });
  }

  retrySyncs(
    filter: Partial<RetrySyncs> & Pick<RetrySyncs, 'sync'>,
    options?: CallOptions,
  ): Promise<ResponseBodyOf<typeof retrySyncs>> {
    return this.#call<typeof retrySyncs>({
      method: 'POST',
      path: '/api/v1/sync/retry/',
      body: filter,
      isRepeatable: true,
      ...options,
    });
  }

  /** Starts an import of the tracker's issues, or continues the running one. */
  async startImport(options?: CallOptions): Promise<Import> {
    const call: Call = { method: 'POST', path: importPath, isRepeatable: true, ...options };
    return (await this.#transport.send(call)).body as Import;
  }

  /** Returns the effects that an import of one page would have. `cursor`: the `next` of the previous page. */
  async previewImport(cursor?: string, options?: CallOptions): Promise<ImportPreview> {
    const query = { dry_run: true, cursor };
    const call: Call = { method: 'POST', path: importPath, query, isRepeatable: true, ...options };
    return (await this.#transport.send(call)).body as ImportPreview;
  }

  /** Returns the progress of the last import. */
  importState(options?: CallOptions): Promise<ResponseBodyOf<typeof getImport>> {
    return this.#call<typeof getImport>({ method: 'GET', path: importPath, ...options });
  }

  /** Makes issues due that were never synced; with `dry_run` only lists them. */
  backfill(
    { limit, dry_run }: { limit?: number; dry_run?: boolean } = {},
    options?: CallOptions,
  ): Promise<ResponseBodyOf<typeof backfillSyncs>> {
    return this.#call<typeof backfillSyncs>({
      method: 'POST',
      path: '/api/v1/sync/backfill/',
      query: { dry_run },
      body: limit === undefined ? {} : { limit },
      isRepeatable: true,
      ...options,
    });
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
    } & PageSize = {},
    options?: CallOptions,
  ): AsyncGenerator<User | FullUser, void> {
    return this.#transport.pages(users, { ...filters, ids: filters.ids?.join() }, options);
  }

  /** Returns the calling user. */
  me(options?: CallOptions): Promise<ResponseBodyOf<typeof getMe>> {
    return this.#call<typeof getMe>({ method: 'GET', path: `${users}me/`, ...options });
  }

  /** Changes the display name of the calling user; null removes it. */
  rename(name: string | null, options?: CallOptions): Promise<ResponseBodyOf<typeof updateMe>> {
    return this.#call<typeof updateMe>({ method: 'PATCH', path: `${users}me/`, body: { name }, ...options });
  }

  /** Changes the password of the calling user. All sessions of the user end: sign in again. */
  async changePassword(current_password: string, new_password: string, options?: CallOptions): Promise<void> {
    const body = { current_password, new_password };
    await this.#transport.send({ method: 'POST', path: `${users}me/password/`, body, ...options });
  }

  user(id: string, options?: CallOptions): Promise<ResponseBodyOf<typeof getUser>> {
    return this.#call<typeof getUser>({ method: 'GET', path: userPath(id), ...options });
  }

  createUser(
    user: UserInput & { email: string },
    options?: CallOptions,
  ): Promise<ResponseBodyOf<typeof createUser>> {
    return this.#call<typeof createUser>({ method: 'POST', path: users, body: user, ...options });
  }

  updateUser(
    id: string,
    change: UserInput,
    options?: CallOptions,
  ): Promise<ResponseBodyOf<typeof updateUser>> {
    return this.#call<typeof updateUser>({ method: 'PUT', path: userPath(id), body: change, ...options });
  }

  async deactivateUser(id: string, options?: CallOptions): Promise<void> {
    await this.#transport.send({ method: 'DELETE', path: userPath(id), ...options });
  }

  async #call<Op extends Operation>(call: Call): Promise<ResponseBodyOf<Op>> {
    return (await this.#transport.send(call)).body as ResponseBodyOf<Op>;
  }

  // The key is the same in all attempts.
  #once<Op extends Operation>(call: Call): Promise<ResponseBodyOf<Op>> {
    const headers = { 'Idempotency-Key': crypto.randomUUID() };
    return this.#call<Op>({ ...call, headers, isRepeatable: true });
  }
}

function pageCall(filters: PageFilters): Call {
  return { method: 'GET', path: '/api/v1/issue-pages/', query: listQuery(filters) };
}

function listQuery({ id, ordering, ...query }: IssueFilters): Query {
  return { ...query, id: id?.join(','), ordering: ordering?.join(',') || undefined };
}

const importPath = '/api/v1/sync/import/';

function textOf(issue: IssueReference | undefined): string | undefined {
  return issue === undefined ? undefined : String(issue);
}

function pathOf(issue: IssueReference, rest = ''): string {
  return `${issues}${pathSegment(issue)}/${rest}`;
}

function webhookPath(id: string, rest = ''): string {
  return `${webhooks}${pathSegment(id)}/${rest}`;
}

function labelPath(id: string): string {
  return `${labels}${pathSegment(id)}/`;
}

function userPath(id: string): string {
  return `${users}${pathSegment(id)}/`;
}
