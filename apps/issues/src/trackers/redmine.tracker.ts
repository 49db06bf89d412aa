import { type IssueStatus, issueStatuses, type SyncedField } from '@tessera/contracts';
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
  type RemoteChange,
  type RemoteComment,
  type RemoteDraft,
  type RemoteIssue,
  type RemotePush,
  stepForTwoStates,
  stepTowards,
  toChangedIssue,
} from './external-tracker.ts';
import { RedmineProject, vocabularyLifetimeMs } from './redmine-project.ts';
import type { TrackerCheck } from './tracker-check.ts';
import type { TrackerClock } from './tracker-clock.ts';
import type { TrackerConfig, TrackerContext, TrackerWords } from './tracker-config.ts';
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
const changedSchema = issueSchema.pick({ id: true, description: true, created_on: true, updated_on: true });
const accountBody = z.object({ user: z.object({ id: z.int() }) });
const mailBody = z.object({ user: z.object({ mail: z.string().nullish() }) });

/** Redmine's names of the synced fields in a journal entry. */
const attributeMembers = [
  ['subject', 'title', 'title'],
  ['description', 'description', 'description'],
  ['status_id', 'state', 'status'],
  ['priority_id', 'priority', 'priority'],
] as const;

// The time is longer than a proxy delays an accepted request.
const settleSeconds = 120;
// Redmine reduces a larger limit to this.
const pageSize = 100;

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
  readonly #transport: TrackerTransport;
  readonly #clock: TrackerClock;
  readonly #redmine: RedmineProject;
  readonly #mails = new LRUCache<number, { mail: string | null }>({
    max: 10_000,
    ttl: vocabularyLifetimeMs,
  });

  constructor(config: TrackerConfig, context: TrackerContext) {
    this.project = config.project;
    this.settleSeconds = config.settleSeconds ?? settleSeconds;
    this.#url = config.url;
    this.#words = config.words;
    const headers = { 'X-Redmine-API-Key': config.token };
    this.#transport = new TrackerTransport(config, { headers, writeIntervalMs: 0 }, context);
    this.#clock = context.clock;
    const { project, words, redmine: settings } = config;
    this.#redmine = new RedmineProject({ transport: this.#transport, project, words, settings });
  }

  get isPaused(): boolean {
    return this.#transport.isPaused;
  }

  async findProblem(signal: AbortSignal): Promise<TrackerError | undefined> {
    return this.#redmine.findProblem(signal);
  }

  async checkSettings(signal: AbortSignal): Promise<TrackerCheck[]> {
    return this.#redmine.check(signal);
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
    await this.#redmine.load(signal);
    const body = {
      issue: {
        project_id: this.project,
        ...(await this.#redmine.requiredMembers(signal)),
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
    await this.#redmine.load(signal);
    const { issue } = await this.#transport.read({ method: 'GET', ...onIssue(id), signal }, issueBody);
    // The account can be able to read other projects.
    if (issue.project.id !== this.#redmine.id)
      throw new TrackerError('remote_moved', 'moved to another project');
    return this.#toRemoteIssue(issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const issue = this.#toBody(change, marker);
    if (Object.values(issue).some((value) => value !== undefined))
      await this.#put(seen.id, { issue }, signal);
    this.#redmine.assertNames(change);
  }

  // A journal entry contains the values of its fields before and after the update.
  async findOverwritten(id: string, push: RemotePush, signal: AbortSignal): Promise<RemoteChange> {
    await this.#redmine.load(signal);
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
    await this.#redmine.load(signal);
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
      item: changedSchema,
      keep: ({ id, description: text, created_on: created_at, updated_on: updated_at }) =>
        toChangedIssue(id, { text, created_at, updated_at }),
      signal,
    });
    return { issues, hasNext: count === pageSize };
  }

  async listIssues(position: ListPosition, signal: AbortSignal): Promise<IssuePage> {
    await this.#redmine.load(signal);
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
      const commentId = noteId(id, journal);
      if (body === '' || journal.private_notes === true || !isWanted(commentId)) return undefined;
      return {
        id: commentId,
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
      journal.notes?.includes(marker) ? noteId(id, journal) : undefined,
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
    const isMissing = status === 'REOPENED' && this.#redmine.statusId(statuses.REOPENED) === undefined;
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
    return stepForTwoStates(!this.#redmine.isClosed(state), 'CLOSED', local);
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

  #toBody({ title, description, state, priority }: RemoteChange, marker: string) {
    return {
      ...(title === undefined ? {} : { subject: title }),
      ...(description === undefined ? {} : { description: outboundText(description, marker, 'textile') }),
      ...(state === undefined ? {} : { status_id: this.#redmine.statusId(state) }),
      ...(priority === undefined ? {} : { priority_id: this.#redmine.priorityId(priority) }),
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
        return this.#redmine.statusName(text);
      case 'priority':
        return this.#redmine.priorityWithId(text);
    }
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
      priority: this.#redmine.toPriority(issue.priority.name) ?? null,
      createdAt: new Date(issue.created_on),
      updatedAt: new Date(issue.updated_on),
      readAt: this.#clock.passedTime(new Date(issue.updated_on)),
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

// A Redmine on SQLite, or on MySQL 5.7 after a restart, uses the numbers of deleted notes again.
function noteId(issueId: string, journal: z.output<typeof journalSchema>): string {
  return `${issueId}:${journal.id}:${journal.created_on}`;
}

function onIssue(id: string) {
  return { path: `/issues/${id}.json`, target: 'issue' } as const;
}
