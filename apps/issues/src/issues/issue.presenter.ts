import type {
  CreateIssue,
  createIssue,
  Issue,
  IssueSummary,
  UpdateIssue,
  updateIssue,
} from '@tessera/contracts';
import { jsonText, type ResponseOf } from '@tessera/service-kit';
import { presentComment } from '../comments/comment.presenter.ts';
import { allowedTransitions } from '../issue-status/issue-status.ts';
import { presentLink, readLink } from '../links/link.presenter.ts';
import { presentPerson } from '../people/person.presenter.ts';
import type { IssueDraft, IssueEdit, IssueRecord, IssueSnapshot, PresentedIssue } from './issue.ts';
import type { IssueUrls } from './issue-urls.ts';
import { etagOf } from './precondition.ts';

/** The wire form of issues. */
export class IssuePresenter {
  readonly #keyPrefix: string;

  constructor({ keyPrefix }: { keyPrefix: string }) {
    this.#keyPrefix = keyPrefix;
  }

  /** An issue in a list. */
  summary(issue: IssueSnapshot): IssueSummary {
    return {
      id: issue.id,
      number: issue.number,
      key: `${this.#keyPrefix}-${issue.number}`,
      title: issue.title,
      description: issue.description,
      priority: issue.priority,
      status: issue.status,
      allowed_transitions: [...allowedTransitions(issue.status)],
      reporter: presentPerson(issue.reporterId, issue.reporterName),
      assignee: presentPerson(issue.assigneeId, issue.assigneeName),
      links: issue.links.map(presentLink),
      external: presentExternal(issue),
      sync: presentSyncState(issue),
      comments_count: issue.commentsCount,
      version: issue.version,
      created_at: issue.createdAt.toISOString(),
      updated_at: issue.updatedAt.toISOString(),
      resolved_at: issue.resolvedAt?.toISOString() ?? null,
      closed_at: issue.closedAt?.toISOString() ?? null,
    };
  }

  /** An issue by itself. */
  issue(issue: IssueSnapshot): Issue {
    return { ...this.summary(issue), comments: issue.comments.map(presentComment) };
  }

  /** The same as text. */
  text(issue: IssueSnapshot): PresentedIssue {
    const text = jsonText(this.issue(issue));
    return { id: issue.id, text, etag: etagOf(issue, text) };
  }
}

export function issueResponse({
  text,
  etag,
}: PresentedIssue): ResponseOf<typeof updateIssue> & { headers: { ETag: string } } {
  return { status: 200, headers: { ETag: etag }, body: text };
}

export function createdIssueResponse(issue: PresentedIssue, urls: IssueUrls): ResponseOf<typeof createIssue> {
  const headers = { ETag: issue.etag, Location: urls.of(issue.id) };
  return { status: 201, headers, body: issue.text };
}

function presentExternal(issue: IssueRecord): Issue['external'] {
  const { provider, remoteId: id, remoteKey: key, remoteUrl: url, remoteState: state } = issue;
  // They are written together.
  const isKnown = provider != null && id != null && key != null && url != null;
  return isKnown ? { provider, id, key, url, state: state ?? null } : null;
}

function presentSyncState(issue: IssueRecord): Issue['sync'] {
  return {
    state: syncStateOf(issue),
    last_synced_at: issue.lastSyncedAt?.toISOString() ?? null,
    last_result: issue.lastResult ?? null,
    last_error: issue.lastError ?? null,
    moved_to: issue.movedTo ?? null,
    conflicts: issue.conflicts ?? [],
    next_attempt_at: issue.nextAttemptAt?.toISOString() ?? null,
  };
}

function syncStateOf({ lastError, nextAttemptAt, lastSyncedAt, isChanged }: IssueRecord) {
  // Without a tracker its columns are not read.
  if (lastError === undefined) return 'not_configured';
  if (lastError !== null) return nextAttemptAt === null ? 'failed' : 'retrying';
  if (lastSyncedAt === null) return 'not_synced';
  return isChanged ? 'changed' : 'synced';
}

export function readNewIssue(body: CreateIssue): IssueDraft {
  return {
    title: body.title,
    description: body.description,
    priority: body.priority,
    status: body.status,
    assignee: readAssignee(body) ?? null,
    links: body.links.map(readLink),
  };
}

export function readIssueEdit(body: UpdateIssue): IssueEdit {
  return {
    title: body.title,
    description: body.description,
    priority: body.priority,
    status: body.status,
    assignee: readAssignee(body),
    links: body.links?.map(readLink),
  };
}

function readAssignee(body: Pick<UpdateIssue, 'assignee_id' | 'assignee_email'>): IssueEdit['assignee'] {
  const { assignee_id: id, assignee_email: email } = body;
  if (email !== undefined) return { person: { email }, field: 'assignee_email' };
  if (id === null || id === undefined) return id;
  return { person: { id }, field: 'assignee_id' };
}
