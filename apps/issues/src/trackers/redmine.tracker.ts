import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import { z } from 'zod';
import type {
  ExternalTracker,
  LocalState,
  RemoteChange,
  RemoteComment,
  RemoteDraft,
  RemoteIssue,
} from './external-tracker.ts';
import { RedmineVocabulary, type RedmineWords } from './redmine-vocabulary.ts';
import { TrackerError } from './tracker-error.ts';
import { canonicalText, canonicalTitle, outboundText } from './tracker-text.ts';
import type { TrackerTransport } from './tracker-transport.ts';

interface RedmineOptions {
  transport: TrackerTransport;
  /** Its address for people. */
  url: string;
  /** The project's identifier. */
  project: string;
  words: RedmineWords;
  settleSeconds: number;
}

const named = z.object({ id: z.int(), name: z.string() });
const issueSchema = z.object({
  id: z.int().positive(),
  project: named,
  status: named,
  priority: named,
  subject: z.string(),
  description: z.string().nullish(),
  created_on: z.iso.datetime(),
  updated_on: z.iso.datetime(),
});
const journalSchema = z.object({
  id: z.int().positive(),
  user: named.nullish(),
  notes: z.string().nullish(),
  created_on: z.iso.datetime(),
  private_notes: z.boolean().nullish(),
});
const oneSchema = z.object({ issue: issueSchema });
const listSchema = z.object({ issues: z.array(issueSchema) });
const journalsSchema = z.object({ issue: z.object({ journals: z.array(journalSchema).default([]) }) });

/**
 * Redmine's REST API (redmine.org/projects/redmine/wiki/Rest_Issues). A PUT is answered with 204 whatever came of it; a
 * comment is a journal's note, and has no address of its own.
 */
export class RedmineTracker implements ExternalTracker {
  readonly provider = 'redmine';
  readonly hasPriority = true;
  readonly project: string;
  readonly settleSeconds: number;
  readonly #url: string;
  readonly #transport: TrackerTransport;
  readonly #vocabulary: RedmineVocabulary;

  constructor({ transport, url, project, words, settleSeconds }: RedmineOptions) {
    this.#transport = transport;
    this.#url = url;
    this.project = project;
    this.settleSeconds = settleSeconds;
    this.#vocabulary = new RedmineVocabulary(transport, words);
  }

  async create(draft: RemoteDraft, marker: string, signal: AbortSignal): Promise<RemoteIssue> {
    await this.#vocabulary.load(signal);
    const body = { issue: { project_id: this.project, ...this.#toIssue(draft, marker) } };
    const request = { method: 'POST', path: '/issues.json', body, signal } as const;
    return this.#toRemote((await this.#transport.read(request, oneSchema)).issue);
  }

  async get(id: string, signal: AbortSignal): Promise<RemoteIssue> {
    await this.#vocabulary.load(signal);
    return this.#toRemote((await this.#transport.read(this.#reading(id, signal), oneSchema)).issue);
  }

  async update(seen: RemoteIssue, change: RemoteChange, marker: string, signal: AbortSignal): Promise<void> {
    const issue = this.#toIssue(change, marker);
    const path = `/issues/${seen.id}.json`;
    await this.#transport.send({ method: 'PUT', path, names: 'issue', body: { issue }, signal });
  }

  async findByMarker(marker: string, since: Date, signal: AbortSignal): Promise<RemoteIssue[]> {
    await this.#vocabulary.load(signal);
    // Without status_id only open issues are listed.
    const query = {
      project_id: this.project,
      status_id: '*',
      author_id: 'me',
      description: `~${marker}`,
      created_on: `>=${since.toISOString().slice(0, 10)}`,
      sort: 'created_on',
      limit: 100,
    };
    const request = { method: 'GET', path: '/issues.json', query, signal } as const;
    const { issues } = await this.#transport.read(request, listSchema);
    return issues
      .filter(({ description }) => description?.includes(marker))
      .map((issue) => this.#toRemote(issue));
  }

  async listComments(id: string, signal: AbortSignal): Promise<RemoteComment[]> {
    const request = { ...this.#reading(id, signal), query: { include: 'journals' } };
    const { issue } = await this.#transport.read(request, journalsSchema);
    return issue.journals
      .filter((journal) => (journal.notes ?? '') !== '' && journal.private_notes !== true)
      .map((journal) => ({
        id: String(journal.id),
        body: journal.notes ?? '',
        author: journal.user?.name ?? null,
        createdAt: new Date(journal.created_on),
      }));
  }

  async addComment(id: string, body: string, marker: string, signal: AbortSignal): Promise<string> {
    const issue = { notes: outboundText(body, marker, 'textile') };
    const path = `/issues/${id}.json`;
    await this.#transport.send({ method: 'PUT', path, names: 'issue', body: { issue }, signal });
    const added = (await this.listComments(id, signal)).find((comment) => comment.body.includes(marker));
    if (added !== undefined) return added.id;
    throw new TrackerError('rejected', 'took a note and dropped it', {
      isUndone: true,
      messages: ['A comment was accepted and not kept: may this account add notes?'],
    });
  }

  stateOf({ status }: LocalState): string {
    return this.#vocabulary.stateOf(status);
  }

  isReached(state: string, wanted: string): boolean {
    return state === wanted;
  }

  statusOf(state: string, local: IssueStatus): IssueStatus {
    return this.#vocabulary.statusOf(state, local);
  }

  #reading(id: string, signal: AbortSignal) {
    return { method: 'GET', path: `/issues/${id}.json`, names: 'issue', signal } as const;
  }

  #toIssue({ title, description, state, priority }: RemoteChange, marker: string) {
    return {
      ...(title === undefined ? {} : { subject: title }),
      ...(description === undefined ? {} : { description: outboundText(description, marker, 'textile') }),
      ...(state === undefined ? {} : { status_id: this.#vocabulary.statusId(state) }),
      ...(priority === undefined ? {} : { priority_id: this.#vocabulary.priorityId(priority) }),
    };
  }

  #toRemote(issue: z.output<typeof issueSchema>): RemoteIssue {
    const priority: IssuePriority | null = this.#vocabulary.priorityOf(issue.priority.name);
    return {
      id: String(issue.id),
      key: `#${issue.id}`,
      url: `${this.#url}/issues/${issue.id}`,
      title: canonicalTitle(issue.subject),
      description: canonicalText(issue.description ?? ''),
      state: issue.status.name,
      priority,
      createdAt: new Date(issue.created_on),
      updatedAt: new Date(issue.updated_on),
      revision: null,
    };
  }
}
