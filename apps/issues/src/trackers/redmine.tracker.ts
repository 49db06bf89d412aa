import {
  type IssuePriority,
  type IssueStatus,
  issuePriorities,
  issueStatuses,
  type SyncedField,
} from '@tessera/contracts';
import { LRUCache } from 'lru-cache';
import { z } from 'zod';
import {
  type ChangedPage,
  type ExternalTracker,
  type IssuePage,
  isSameName,
  type ListedIssue,
  type ListPosition,
  type LocalState,
  type RedmineSettings,
  type RemoteChange,
  type RemoteComment,
  type RemoteDraft,
  type RemoteIssue,
  type RemotePush,
  stepForTwoStates,
  stepTowards,
  type TrackerConfig,
  type TrackerContext,
  type TrackerWords,
  toStamp,
} from './external-tracker.ts';
import { checkRedmine } from './redmine-check.ts';
import type { TrackerCheck } from './tracker-check.ts';
import { problemOr, TrackerError } from './tracker-error.ts';
import { canonicalText, canonicalTitle, endMarker, outboundText, remoteNameSchema } from './tracker-text.ts';
import { TrackerTransport } from './tracker-transport.ts';

/** The names of a Redmine with the default data. */
export const redmineWords: TrackerWords = {
  statuses: {
    OPEN: 'New',
    IN_PROGRESS: 'In Progress',
    RESOLVED: 'Resolved',
    CLOSED: 'Closed',
    REOPENED: 'Feedback',
  },
  priorities: { LOW: 'Low', MEDIUM: 'Normal', HIGH: 'High', URGENT: 'Urgent', CRITICAL: 'Immediate' },
};

const named = z.object({ id: z.int(), name: remoteNameSchema });
const issueSchema = z.object({
  id: z.int().positive(),
  project: named,
  status: named,
  priority: named,
  subject: z.string(),
  description: z.string().nullish(),
  is_private: z.boolean().nullish(),
  created_on: z.iso.datetime(),
  updated_on: z.iso.datetime(),
});
const journalSchema = z.object({
  id: z.int().positive(),
  user: named.nullish(),
  notes: z.string().nullish(),
  created_on: z.iso.datetime(),
  private_notes: z.boolean().nullish(),
  details: z
    .array(
      z.object({
        property: z.string(),
        name: z.string(),
        old_value: z.string().nullish(),
        new_value: z.string().nullish(),
      }),
    )
    .default([]),
});
const issueBody = z.object({ issue: issueSchema });
const listedSchema = issueSchema.extend({ author: named.nullish(), assigned_to: named.nullish() });
const stampSchema = issueSchema.pick({ id: true, updated_on: true });
const userBody = z.object({
  user: z.object({
    admin: z.boolean().nullish(),
    memberships: z.array(z.object({ project: z.object({ id: z.int() }) })).default([]),
  }),
});
const accountBody = z.object({ user: z.object({ id: z.int() }) });
const mailBody = z.object({ user: z.object({ mail: z.string().nullish() }) });
const projectBody = z.object({
  project: z.object({
    id: z.int(),
    status: z.int(),
    is_public: z.boolean().nullish(),
    enabled_modules: z.array(z.object({ name: z.string() })).optional(),
  }),
});
const statusesBody = z.object({
  issue_statuses: z.array(named.extend({ is_closed: z.boolean().nullish().transform(Boolean) })),
});
const typesBody = z.object({ trackers: z.array(named) });
const prioritiesBody = z.object({ issue_priorities: z.array(named) });

/** Redmine's names of the synced fields in a journal entry. */
const attributeMembers = [
  ['subject', 'title', 'title'],
  ['description', 'description', 'description'],
  ['status_id', 'state', 'status'],
  ['priority_id', 'priority', 'priority'],
] as const;

// Redmine's app/models/project.rb: 5 is closed, 9 archived.
const activeProject = 1;
// The time is longer than a proxy delays an accepted request.
const settleSeconds = 120;
// Redmine reduces a larger limit to this.
const pageSize = 100;
const vocabularyLifetimeMs = 10 * 60_000;

/**
 * Redmine's REST API (redmine.org/projects/redmine/wiki/Rest_Issues). Redmine responds 204 to a PUT even if it applied
 * none of the changes. A comment is the note of a journal entry and has no separate URL.
 */
export class RedmineTracker implements ExternalTracker {
  readonly provider = 'redmine';
  readonly hasPriority = true;
  // Redmine does not change `updated_on` when a private note becomes public.
  readonly publishesLate = true;
  readonly labels = undefined;
  readonly project: string;
  readonly settleSeconds: number;
  readonly ordersChanges = true;
  readonly #url: string;
  readonly #words: TrackerWords;
  readonly #settings: RedmineSettings;
  readonly #transport: TrackerTransport;
  #statuses: z.output<typeof statusesBody>['issue_statuses'] = [];
  #priorities: z.output<typeof prioritiesBody>['issue_priorities'] = [];
  #projectId: number | undefined;
  #vocabularyLoadedAt = Number.NEGATIVE_INFINITY;
  readonly #mails = new LRUCache<number, { mail: string | null }>({
    max: 10_000,
    ttl: vocabularyLifetimeMs,
  });

  constructor(config: TrackerConfig, context: TrackerContext) {
    this.project = config.project;
    this.settleSeconds = config.settleSeconds ?? settleSeconds;
    this.#url = config.url;
    this.#words = config.words;
    this.#settings = config.redmine;
    const headers = { 'X-Redmine-API-Key': config.token };
    this.#transport = new TrackerTransport(config, { headers, writeIntervalMs: 0 }, context);
  }

  get isPaused(): boolean {
    return this.#transport.isPaused;
  }

  clock(): Date {
    return this.#transport.clock();
  }

  async findProblem(signal: AbortSignal): Promise<TrackerError | undefined> {
    const account = {
      method: 'GET',
      path: '/users/current.json',
      query: { include: 'memberships' },
      signal,
    } as const;
    const user = await problemOr(this.#transport.read(account, userBody));
    if (user instanceof TrackerError) {
      // Redmine's app/controllers/application_controller.rb, require_login.
      return user.code === 'not_a_member' ? new TrackerError('rest_api_disabled', user.message) : user;
    }
    const path = `/projects/${this.project}.json`;
    const query = { include: 'enabled_modules' };
    const found = await problemOr(this.#transport.read({ method: 'GET', path, query, signal }, projectBody));
    if (found instanceof TrackerError) return found;
    const { id, status, is_public: isPublic, enabled_modules: modules } = found.project;
    if (status !== activeProject) return new TrackerError('project_archived', 'closed or archived');
    if (modules !== undefined && !modules.some(({ name }) => name === 'issue_tracking'))
      return new TrackerError('issues_disabled', 'the module issue_tracking is off');
    const { admin, memberships } = user.user;
    // In a public project, the role "Non member" can suffice.
    if (admin !== true && isPublic !== true && !memberships.some(({ project }) => project.id === id))
      return new TrackerError('not_a_member', 'no membership in the project');
    return undefined;
  }

  async checkSettings(signal: AbortSignal): Promise<TrackerCheck[]> {
    const [transport, project, words] = [this.#transport, this.project, this.#words];
    return checkRedmine({ ...this.#settings, transport, project, words, signal });
  }

  async findAccount(signal: AbortSignal): Promise<string> {
    const request = { method: 'GET', path: '/users/current.json', signal } as const;
    return String((await this.#transport.read(request, accountBody)).user.id);
  }

  // Redmine has no limit.
  toFit(text: string): string {
    return text;
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    await this.#loadVocabulary(signal);
    const body = {
      issue: {
        project_id: this.project,
        ...(await this.#requiredMembers(signal)),
        ...this.#toBody(draft, marker),
      },
    };
    const { issue } = await this.#transport.read(
      { method: 'POST', path: '/issues.json', body, signal },
      issueBody,
    );
    return this.#toRemoteIssue(issue);
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    await this.#loadVocabulary(signal);
    const { issue } = await this.#transport.read({ method: 'GET', ...onIssue(id), signal }, issueBody);
    // The account can be able to read other projects.
    if (issue.project.id !== this.#projectId)
      throw new TrackerError('remote_moved', 'moved to another project');
    return this.#toRemoteIssue(issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const issue = this.#toBody(change, marker);
    const unknown = this.#unknownNames(change);
    if (Object.values(issue).some((value) => value !== undefined))
      await this.#put(seen.id, { issue }, signal);
    if (unknown.length === 0) return;
    // An administrator may add names at any time.
    this.#vocabularyLoadedAt = Number.NEGATIVE_INFINITY;
    throw new TrackerError('tracker_rejected', 'a configured name does not exist', { messages: unknown });
  }

  // A journal entry contains the values of its fields before and after the update.
  async findOverwritten(id: string, push: RemotePush, signal: AbortSignal): Promise<RemoteChange> {
    await this.#loadVocabulary(signal);
    const journals = await this.#readJournals(id, signal, ({ created_on: at, details: changes }) =>
      Date.parse(at) >= Date.parse(push.seenAt) ? changes : undefined,
    );
    const details = journals.flat().filter(({ property }) => property === 'attr');
    const overwritten: RemoteChange = {};
    for (const [attribute, member] of attributeMembers) {
      const { [member]: wanted } = push.wanted;
      if (wanted === undefined) continue;
      const values = details
        .filter(({ name }) => name === attribute)
        .map((detail) => [detail.old_value, detail.new_value].map((value) => this.#toMember(member, value)));
      const replaced = values.findLast(([, written]) => written === wanted)?.[0];
      if (replaced !== undefined && replaced !== push.seen[member])
        Object.assign(overwritten, { [member]: replaced });
    }
    return overwritten;
  }

  async changeTimes(id: string, signal: AbortSignal): Promise<Map<SyncedField, Date>> {
    const changes = await this.#readJournals(id, signal, ({ created_on: at, details }) =>
      details.filter(({ property }) => property === 'attr').map(({ name }) => [name, new Date(at)] as const),
    );
    const times = new Map(changes.flat());
    return new Map(
      attributeMembers.flatMap(([attribute, , field]) => {
        const at = times.get(attribute);
        return at === undefined ? [] : [[field, at] as const];
      }),
    );
  }

  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    await this.#loadVocabulary(signal);
    const query = {
      project_id: this.project,
      // Without this parameter, Redmine lists only open issues.
      status_id: '*',
      author_id: 'me',
      description: `~${marker}`,
      created_on: `>=${dateBefore(since)}`,
      sort: 'created_on',
      limit: pageSize,
    };
    const { items } = await this.#transport.readList({
      path: '/issues.json',
      list: '$.issues',
      query,
      item: issueSchema,
      keep: (issue) => (issue.description?.includes(marker) ? this.#toRemoteIssue(issue) : undefined),
      signal,
    });
    return items;
  }

  async listChanged(position: ListPosition, signal: AbortSignal): Promise<ChangedPage> {
    const { items: issues, count } = await this.#transport.readList({
      ...this.#updatedSince(position),
      item: stampSchema,
      keep: (issue) => toStamp(issue.id, { updated_at: issue.updated_on }),
      signal,
    });
    return { issues, hasNext: count === pageSize };
  }

  async listIssues(position: ListPosition, signal: AbortSignal): Promise<IssuePage> {
    await this.#loadVocabulary(signal);
    const { items, count } = await this.#transport.readList({
      ...this.#updatedSince(position),
      item: listedSchema,
      keep: (issue) => issue,
      signal,
    });
    const issues: ListedIssue[] = [];
    for (const { author, assigned_to: assignee, ...issue } of items) {
      issues.push({
        ...this.#toRemoteIssue(issue),
        author: author?.name ?? null,
        authorId: author == null ? null : String(author.id),
        assignee:
          assignee == null ? null : { name: assignee.name, email: await this.#mailOf(assignee.id, signal) },
      });
    }
    return { issues, hasNext: count === pageSize };
  }

  async listComments(
    id: string,
    isWanted: (id: string) => boolean,
    signal: AbortSignal,
  ): Promise<RemoteComment[]> {
    return this.#readJournals(id, signal, (journal) => {
      const body = journal.notes ?? '';
      if (body === '' || journal.private_notes === true || !isWanted(String(journal.id))) return undefined;
      return {
        id: String(journal.id),
        body,
        author: journal.user?.name ?? null,
        createdAt: new Date(journal.created_on),
      };
    });
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const issue = { notes: outboundText(body, marker, 'textile') };
    await this.#put(id, { issue }, signal);
    const [added] = await this.#readJournals(id, signal, (journal) =>
      journal.notes?.includes(marker) ? String(journal.id) : undefined,
    );
    if (added !== undefined) return added;
    throw new TrackerError('tracker_rejected', 'accepted a note without storing it', {
      hadNoEffect: true,
      messages: ['Redmine did not store a comment: check that this account may add notes.'],
    });
  }

  // Redmine may have no status for reopened issues; they are then in progress.
  stateOf({ status }: Pick<LocalState, 'status'>): string {
    const { statuses } = this.#words;
    const isMissing = status === 'REOPENED' && this.#statusId(statuses.REOPENED) === undefined;
    return isMissing ? statuses.IN_PROGRESS : statuses[status];
  }

  isReached(state: string, wanted: string): boolean {
    return state === wanted;
  }

  meaningOf(state: string): IssueStatus | undefined {
    return issueStatuses.find((status) => isSameName(this.stateOf({ status }), state));
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    // Two local statuses can map to the same name: the current one takes precedence.
    if (isSameName(this.stateOf({ status: local }), state)) return local;
    const status = this.meaningOf(state);
    if (status !== undefined) return stepTowards(status, local);
    const isClosed = this.#statuses.some(({ name, is_closed }) => is_closed && isSameName(name, state));
    return stepForTwoStates(!isClosed, 'CLOSED', local);
  }

  #updatedSince({ since, page }: ListPosition) {
    const query = {
      project_id: this.project,
      // Excludes the issues of subprojects.
      subproject_id: '!*',
      status_id: '*',
      // A time has a zone, unlike a date.
      updated_on: `>=${since.toISOString().slice(0, 19)}Z`,
      sort: 'updated_on,id',
      limit: pageSize,
      offset: (page - 1) * pageSize,
    };
    return { path: '/issues.json', list: '$.issues', query };
  }

  // Redmine's app/views/users/show.api.rsb: the e-mail is absent if the user hides it. A group can also be an assignee
  // and has no e-mail.
  async #mailOf(userId: number, signal: AbortSignal): Promise<string | null> {
    const cached = this.#mails.get(userId);
    if (cached !== undefined) return cached.mail;
    const request = { method: 'GET', path: `/users/${userId}.json`, signal } as const;
    const found = await problemOr(this.#transport.read(request, mailBody));
    const mail = found instanceof TrackerError ? null : found.user.mail || null;
    this.#mails.set(userId, { mail });
    return mail;
  }

  // Returns the members that a Redmine may require in a new issue.
  async #requiredMembers(signal: AbortSignal): Promise<object> {
    const { type, customFields } = this.#settings;
    const fields = customFields.length === 0 ? {} : { custom_fields: customFields };
    if (type === undefined) return fields;
    const path = '/trackers.json';
    const { trackers } = await this.#transport.read({ method: 'GET', path, signal }, typesBody);
    const id = trackers.find(({ name }) => isSameName(name, type))?.id;
    if (id !== undefined) return { ...fields, tracker_id: id };
    throw new TrackerError('tracker_rejected', 'there is no such tracker type', {
      hadNoEffect: true,
      messages: [`Redmine has no tracker "${type}": correct TRACKER_TYPE.`],
    });
  }

  // Redmine's app/controllers/issues_controller.rb: Redmine rejects concurrent updates with 422 and no message.
  async #put(id: string, body: object, signal: AbortSignal): Promise<void> {
    try {
      await this.#transport.send({ method: 'PUT', ...onIssue(id), body, signal });
    } catch (error) {
      const isStale =
        error instanceof TrackerError && error.code === 'tracker_rejected' && error.messages.length === 0;
      if (!isStale) throw error;
      throw new TrackerError('tracker_busy', 'updated by someone else at the same time', {
        hadNoEffect: true,
      });
    }
  }

  // Redmine returns all journal entries at once, with the texts before and after each edit.
  async #readJournals<Kept>(
    id: string,
    signal: AbortSignal,
    keep: (journal: z.output<typeof journalSchema>) => Kept | undefined,
  ): Promise<Kept[]> {
    const query = { include: 'journals' };
    const list = '$.issue.journals';
    const request = { ...onIssue(id), list, query, item: journalSchema, keep, signal };
    return (await this.#transport.readList(request)).items;
  }

  // `TRACKER_PROJECT` can be the identifier; an issue contains the number of its project, which never changes.
  async #readProjectId(signal: AbortSignal): Promise<number> {
    const path = `/projects/${this.project}.json`;
    return (await this.#transport.read({ method: 'GET', path, signal }, projectBody)).project.id;
  }

  // Loads the ids of the project, the statuses and the priorities, because requests and issues contain ids.
  async #loadVocabulary(signal: AbortSignal): Promise<void> {
    if (performance.now() - this.#vocabularyLoadedAt < vocabularyLifetimeMs) return;
    const [projectId, { issue_statuses: statuses }, { issue_priorities: priorities }] = await Promise.all([
      this.#projectId ?? this.#readProjectId(signal),
      this.#transport.read({ method: 'GET', path: '/issue_statuses.json', signal }, statusesBody),
      this.#transport.read(
        { method: 'GET', path: '/enumerations/issue_priorities.json', signal },
        prioritiesBody,
      ),
    ]);
    this.#projectId = projectId;
    this.#statuses = statuses;
    this.#priorities = priorities;
    this.#vocabularyLoadedAt = performance.now();
  }

  #statusId(state: string): number | undefined {
    return this.#statuses.find(({ name }) => isSameName(name, state))?.id;
  }

  #priorityId(priority: IssuePriority): number | undefined {
    return this.#priorities.find(({ name }) => isSameName(name, this.#words.priorities[priority]))?.id;
  }

  #unknownNames({ state, priority }: RemoteChange): string[] {
    const messages: string[] = [];
    if (state !== undefined && this.#statusId(state) === undefined)
      messages.push(`Redmine has no status "${state}": correct TRACKER_STATUSES.`);
    if (priority !== undefined && this.#priorityId(priority) === undefined)
      messages.push(
        `Redmine has no priority "${this.#words.priorities[priority]}": correct TRACKER_PRIORITIES.`,
      );
    return messages;
  }

  #toBody({ title, description, state, priority }: RemoteChange, marker: string) {
    return {
      ...(title === undefined ? {} : { subject: title }),
      ...(description === undefined ? {} : { description: outboundText(description, marker, 'textile') }),
      ...(state === undefined ? {} : { status_id: this.#statusId(state) }),
      ...(priority === undefined ? {} : { priority_id: this.#priorityId(priority) }),
    };
  }

  // Returns the value of a field in a journal entry; undefined for a priority without a local equivalent.
  #toMember(member: keyof RemoteChange, value: string | null | undefined): string | undefined {
    const text = value ?? '';
    switch (member) {
      case 'title':
        return canonicalTitle(text);
      case 'description':
        return canonicalText(text);
      case 'state':
        return this.#statuses.find(({ id }) => String(id) === text)?.name;
      case 'priority':
        return this.#toPriority(this.#priorities.find(({ id }) => String(id) === text)?.name ?? '');
    }
  }

  #toPriority(name: string): IssuePriority | undefined {
    const { priorities } = this.#words;
    return issuePriorities.find((priority) => isSameName(priorities[priority], name));
  }

  #toRemoteIssue(issue: z.output<typeof issueSchema>): RemoteIssue {
    return {
      id: String(issue.id),
      key: `#${issue.id}`,
      url: `${this.#url}/issues/${issue.id}`,
      title: canonicalTitle(issue.subject),
      description: canonicalText(issue.description ?? ''),
      marker: endMarker(issue.description ?? ''),
      isPrivate: issue.is_private === true,
      state: issue.status.name,
      priority: this.#toPriority(issue.priority.name) ?? null,
      createdAt: new Date(issue.created_on),
      updatedAt: new Date(issue.updated_on),
      readAt: this.#transport.passedTime(new Date(issue.updated_on)),
      labels: [],
      commentsCount: null,
      revision: null,
    };
  }
}

// Redmine reads a date in the time zone of the account.
function dateBefore(time: Date): string {
  return new Date(time.getTime() - 2 * 86_400_000).toISOString().slice(0, 10);
}

function onIssue(id: string) {
  return { path: `/issues/${id}.json`, target: 'issue' } as const;
}
