import {
  type CreateIssue,
  type createIssue,
  embeddedCommentsBytesMax,
  type Issue,
  type IssueField,
  type IssueSummary,
  issueSummarySchema,
  issuesApi,
  type Link,
  type LinkInput,
  type ListableIssue,
  listedDescriptionMaxLength,
  listedLinksMax,
  type SparseIssue,
  type SyncReport,
  type SyncState,
  type UpdateIssue,
  type updateIssue,
  type Comment as WireComment,
} from '@tessera/contracts';
import { jsonText, type ResponseOf } from '@tessera/service-kit';
import { z } from 'zod';
import { presentFile } from './attachment.ts';
import { presentComment } from './comment.presenter.ts';
import type {
  IssueDraft,
  IssueEdit,
  IssueRecord,
  IssueSnapshot,
  PresentedIssue,
  TrackerIdentity,
} from './issue.ts';
import type { IssueUrls } from './issue-reference.ts';
import { allowedTransitions } from './issue-status.ts';
import type { LinkDraft, StoredLink } from './link.ts';
import { presentPerson, toPersonReference } from './person.ts';
import { etagOf, shortHash } from './precondition.ts';
import { defaultProjectId } from './project.ts';

/** Converts issues to their representation in the API. */
export class IssuePresenter {
  readonly #urls: IssueUrls;
  /** Differs between releases and configurations that present the same issue differently. */
  readonly fingerprint: string;

  /** `tracker`: the configured tracker, whose sync state issues show. */
  constructor({ urls, tracker }: { urls: IssueUrls; tracker?: TrackerIdentity | undefined }) {
    this.#urls = urls;
    const members = z.toJSONSchema(issueSummarySchema, { unrepresentable: 'any' });
    const settings = [urls.list, urls.keyPrefix, tracker?.provider, tracker?.project];
    this.fingerprint = shortHash(JSON.stringify([issuesApi.version, members, settings]));
  }

  /** Returns the representation of an issue in a list. */
  summary(issue: IssueSnapshot): IssueSummary {
    const description = beginningOf(issue.description, listedDescriptionMaxLength);
    return {
      ...this.#common(issue),
      description,
      description_truncated: description !== issue.description,
      links: issue.links.slice(0, listedLinksMax).map(presentListedLink),
      links_count: issue.linksCount,
      sync: presentSyncSummary(issue),
    };
  }

  /** Returns only these members of the representation of an issue in a list. */
  sparse(issue: IssueSnapshot, fields: readonly IssueField[]): SparseIssue {
    const summary: ListableIssue = { ...this.summary(issue), is_blocked: issue.isBlocked ?? false };
    // The compiler does not relate the names to the types of the values.
    return Object.fromEntries(fields.map((field) => [field, summary[field]])) as SparseIssue;
  }

  /** Returns the full representation of an issue. */
  issue(issue: IssueSnapshot): Issue {
    const rest = {
      ...this.#common(issue),
      description: issue.description,
      description_truncated: false,
      links: issue.links.map(presentLink),
      links_count: issue.linksCount,
      sync: presentSyncState(issue),
      mentions: (issue.mentions ?? []).map(({ id, names }) => presentPerson(id, names)),
      attachments: (issue.attachments ?? []).map((file) => presentFile(file, this.#urls)),
      attachments_count: issue.attachmentsCount,
      comments_url: this.#urls.of(issue.id, 'comments'),
    };
    const comments = newestThatFit(
      issue.comments.map((comment) => presentComment(comment, this.#urls)),
      rest,
    );
    return { ...rest, comments, comments_truncated: comments.length < issue.commentsCount };
  }

  #common(issue: IssueSnapshot) {
    return {
      id: issue.id,
      number: issue.number,
      key: this.#urls.keyOf({ number: issue.number, projectKey: issue.project.key }),
      project: {
        id: issue.projectId,
        key: this.#urls.projectKey(issue.project.key),
        name: issue.project.name,
        visibility: issue.project.visibility,
      },
      title: issue.title,
      priority: issue.priority,
      status: issue.status,
      allowed_transitions: [...allowedTransitions(issue.status)],
      reporter: presentPerson(issue.reporterId, issue.reporterName),
      assignee: presentPerson(issue.assigneeId, issue.assigneeName),
      due_on: issue.dueOn,
      labels: issue.labels,
      external: presentExternal(issue),
      comments_count: issue.commentsCount,
      version: issue.version,
      created_at: issue.createdAt.toISOString(),
      updated_at: issue.updatedAt.toISOString(),
      resolved_at: issue.resolvedAt?.toISOString() ?? null,
      closed_at: issue.closedAt?.toISOString() ?? null,
    };
  }

  /** Returns the full representation as JSON text with its ETag. */
  text(issue: IssueSnapshot): PresentedIssue {
    const text = jsonText(this.issue(issue));
    return { id: issue.id, text, etag: etagOf(issue, text) };
  }
}

// The length in code points, as PostgreSQL counts characters.
function beginningOf(text: string, maxLength: number): string {
  return text.length <= maxLength ? text : [...text].slice(0, maxLength).join('');
}

// JSON has at most six bytes for a UTF-16 unit, and less than 2 KiB for the other members.
const commentBytesMax = ({ body, external, mentions, attachments = [] }: WireComment) =>
  (body.length + (external?.author?.length ?? 0)) * 6 + 2048 * (1 + mentions.length + attachments.length);
const commentBytes = (comment: WireComment) => Buffer.byteLength(JSON.stringify(comment));

/** Maximum size of an issue in a response, in bytes; the problem around it in a 409 needs the rest of 1 MiB. */
const issueBytesMax = 1024 * 1024 - 4096;

// The statement limits the size of the texts, but their JSON can be larger. Keeps the newest comment even if it alone
// exceeds the limit.
function newestThatFit(comments: WireComment[], rest: Omit<Issue, 'comments' | 'comments_truncated'>) {
  const estimate = comments.reduce((bytes, comment) => bytes + commentBytesMax(comment), 0);
  const restEstimate =
    rest.description.length * 6 +
    rest.links.length * 16_384 +
    (rest.mentions.length + (rest.attachments?.length ?? 0)) * 2048 +
    65_536 +
    8_192;
  if (estimate <= embeddedCommentsBytesMax && estimate + restEstimate <= issueBytesMax) return comments;
  const room = issueBytesMax - Buffer.byteLength(JSON.stringify(rest));
  let first = comments.length;
  for (let bytes = 0; first > 0; first -= 1) {
    const next = comments[first - 1];
    bytes += next === undefined ? 0 : commentBytes(next);
    if (bytes > (first === comments.length ? room : Math.min(room, embeddedCommentsBytesMax))) break;
  }
  return comments.slice(first);
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
  // These columns are written together.
  const isKnown = provider != null && id != null && key != null && url != null;
  if (!isKnown) return null;
  const created_at = issue.remoteCreatedAt?.toISOString() ?? null;
  return { provider, id, key, url, state: state ?? null, author: issue.remoteAuthor ?? null, created_at };
}

/** Returns the sync state of an issue with its conflicts. */
export function presentSyncState(issue: IssueRecord): SyncState {
  return { ...presentSyncSummary(issue), conflicts: issue.conflicts ?? [] };
}

/** Returns the sync state with the tracker's error messages. */
export function presentSyncReport(issue: IssueRecord): SyncReport {
  return { ...presentSyncState(issue), last_messages: issue.lastMessages ?? [] };
}

function presentSyncSummary(issue: IssueRecord): IssueSummary['sync'] {
  return {
    state: syncStateOf(issue),
    last_synced_at: issue.lastSyncedAt?.toISOString() ?? null,
    last_result: issue.lastResult ?? null,
    last_error: issue.lastError ?? null,
    moved_to: issue.movedTo ?? null,
    conflicts_count: issue.conflictsCount ?? 0,
    next_attempt_at: issue.nextAttemptAt?.toISOString() ?? null,
  };
}

function syncStateOf({ projectId, lastError, nextAttemptAt, lastSyncedAt, isChanged }: IssueRecord) {
  // If no tracker is configured, its columns are not read. It belongs to the default project.
  if (lastError === undefined || projectId !== defaultProjectId) return 'not_configured';
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
    dueOn: body.due_on,
    links: body.links.map(readLink),
    labels: body.labels,
    project: body.project,
  };
}

export function readIssueEdit(body: UpdateIssue): IssueEdit {
  return {
    title: body.title,
    description: body.description,
    priority: body.priority,
    status: body.status,
    assignee: readAssignee(body),
    dueOn: body.due_on,
    links: body.links?.map(readLink),
    labels: body.labels,
  };
}

function readAssignee(body: Pick<UpdateIssue, 'assignee_id' | 'assignee_email'>): IssueEdit['assignee'] {
  const { assignee_id: id, assignee_email: email } = body;
  if (email !== undefined) return { person: { email }, field: 'assignee_email' };
  if (id === null || id === undefined) return id;
  return { person: { id }, field: 'assignee_id' };
}

/** Converts a link to its representation in the API, which is the same in an issue. */
export function presentLink(link: StoredLink): Link {
  return { ...presentListedLink(link), metadata: link.metadata };
}

/** Converts a link to its representation in a list of issues. */
export function presentListedLink(link: StoredLink): Omit<Link, 'metadata'> {
  return {
    id: link.id,
    type: link.type,
    ref: link.ref,
    title: link.title,
    url: link.url,
    relation: link.relation,
    created_by: link.createdBy,
    created_at: link.createdAt.toISOString(),
  };
}

export function readLink({ type, title, url, relation, metadata, ...target }: LinkInput): LinkDraft {
  const details = { type, title: title ?? null, url: url ?? null, relation, metadata: metadata ?? null };
  return 'person' in target
    ? { ...details, person: toPersonReference(target.person) }
    : { ...details, ref: target.ref };
}
