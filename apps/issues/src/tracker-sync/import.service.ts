import type { Import, ImportPreview } from '@tessera/contracts';
import { type Logger, ProblemError } from '@tessera/service-kit';
import { abortAfter } from '../background/abort-after.ts';
import type { Actor } from '../issue-core/actor.ts';
import type { PersonReference, PersonResolver } from '../issue-core/person.ts';
import {
  type ExternalTracker,
  isSameName,
  type ListedIssue,
  type ListPosition,
  positionAfter,
  type RemoteIssue,
  type RemotePerson,
} from '../trackers/external-tracker.ts';
import { problemOr, TrackerError } from '../trackers/tracker-error.ts';
import { adviceFor, trackerNotConfigured, trackerProblem } from '../trackers/tracker-problem.ts';
import { issueOfMarker, storableDescription, storableTitle } from '../trackers/tracker-text.ts';
import { type LocalIssue, type MergeBase, stepsTowards } from './field-merge.ts';
import {
  type ImportJob,
  type ImportRepository,
  listStart,
  type NewImportedIssue,
  nameMaxLength,
  presentImport,
} from './import.repository.ts';

/** The local identity of a tracker account. */
export interface MappedAssignee {
  /** The name of the account. */
  name: string;
  person: PersonReference;
}

interface ConfiguredImport {
  tracker: ExternalTracker;
  repository: ImportRepository;
  people: PersonResolver;
  /** Take precedence over e-mail addresses. */
  assignees: readonly MappedAssignee[];
  /** Time limit of a dry run. */
  deadlineMs: number;
  /** Delay before a failed import continues. */
  retrySeconds: number;
  logger: Logger;
}

type Candidate =
  | { remote: ListedIssue; skipped: 'linked' | 'private' | 'created_here' }
  | { remote: ListedIssue; skipped: null; issue: NewImportedIssue };

/** Maximum number of characters in one statement. Indexing more text can exceed the statement timeout. */
const charactersPerStatement = 256 * 1024;

/** Creates local issues for the issues of the tracker. */
export class ImportService {
  readonly #import: ConfiguredImport | undefined;

  /** `configured`: undefined if no tracker is configured. */
  constructor(configured: ConfiguredImport | undefined) {
    this.#import = configured;
  }

  /** Starts an import. If one is running, makes it due. */
  async start(actor: Actor): Promise<Import> {
    return presentImport(await this.#configured().repository.start(actor.id), adviceFor);
  }

  async findLast(): Promise<Import> {
    return presentImport(await this.#configured().repository.findLast(), adviceFor);
  }

  /** Returns the effects that an import of one page of remote issues would have. */
  async preview(position: ListPosition = listStart): Promise<ImportPreview> {
    const { tracker, deadlineMs } = this.#configured();
    const signal = abortAfter(deadlineMs);
    try {
      const { issues, hasNext } = await tracker.listIssues(position, signal);
      const candidates = await this.#examine(issues, accountOf(tracker, signal));
      const next = hasNext ? positionAfter(position, issues, tracker) : null;
      return {
        issues: candidates.map((candidate) => presentCandidate(tracker, candidate)),
        next: next === null ? null : `${next.since.getTime()}-${next.page}`,
      };
    } catch (error) {
      throw error instanceof TrackerError ? trackerProblem(error, null) : error;
    }
  }

  async backfill(actor: Actor, options: { limit: number; isDryRun: boolean }) {
    return this.#configured().repository.backfill(actor.id, options);
  }

  /** Continues the running import until its end or a failure, unless another process holds its lease. */
  async continue(stopping: AbortSignal, timeoutMs: number): Promise<void> {
    if (this.#import === undefined) return;
    const { repository, retrySeconds: firstDelaySeconds, logger } = this.#import;
    const job = await repository.lease(timeoutMs);
    if (job === undefined) return;
    try {
      await this.#readPages(this.#import, job, stopping, timeoutMs);
    } catch (error) {
      if (stopping.aborted) return repository.release(job);
      const { code, ...retry } = failureOf(error);
      logger.warn({ err: error, importId: job.id, code, advice: adviceFor(code) }, 'import interrupted');
      await repository.fail(job, code, { firstDelaySeconds, ...retry });
    }
  }

  // The process can crash after each step. Another process then reads the same page again.
  async #readPages(
    { tracker, repository, logger }: ConfiguredImport,
    job: ImportJob,
    stopping: AbortSignal,
    timeoutMs: number,
  ): Promise<void> {
    let position: ListPosition | null = job;
    let seen = new Set<string>();
    const findAccount = accountOf(tracker, stopping);
    while (position !== null) {
      const signal = abortAfter(timeoutMs, stopping);
      const { issues, hasNext } = await tracker.listIssues(position, signal);
      // A page begins with the issues that have the time of the previous page's last one.
      const unseen = issues.filter(({ id }) => !seen.has(id));
      const candidates = await this.#examine(unseen, findAccount);
      seen = new Set(issues.map(({ id }) => id));
      const linked = candidates.filter(({ skipped }) => skipped === 'linked');
      const added = candidates.flatMap((candidate) => (candidate.skipped === null ? [candidate.issue] : []));
      const skipped = candidates.length - linked.length - added.length;
      for (const part of partsOf(added)) if (!(await repository.create(job, part))) return;
      position = hasNext ? positionAfter(position, issues, tracker) : null;
      const page = { linked: linked.length, skipped, timeoutMs };
      if (!(await repository.endPage(job, position, page))) return;
      stopping.throwIfAborted();
    }
    logger.info({ importId: job.id }, 'import finished');
  }

  async #examine(
    issues: readonly ListedIssue[],
    findAccount: ReturnType<typeof accountOf>,
  ): Promise<Candidate[]> {
    const { tracker, repository } = this.#configured();
    const known = await repository.findKnown(
      issues.map(({ id }) => id),
      issues.flatMap(({ marker }) => issueOfMarker(marker) ?? []),
    );
    const people = new Map<string, string | null>();
    // Trackers copy the marker when a user copies an issue. Our account may have created the same issue twice.
    const isCreatedHere = async ({ marker, authorId }: ListedIssue) => {
      const remoteId = known.remoteOf.get(issueOfMarker(marker) ?? '');
      if (remoteId === undefined || remoteId === null) return remoteId === null;
      const account = await findAccount();
      return account === undefined || isSameName(account, authorId ?? '');
    };
    const candidates: Candidate[] = [];
    for (const remote of issues) {
      if (known.remoteIds.has(remote.id)) candidates.push({ remote, skipped: 'linked' });
      else if (await isCreatedHere(remote)) candidates.push({ remote, skipped: 'created_here' });
      else if (remote.isPrivate) candidates.push({ remote, skipped: 'private' });
      else {
        const { assignee } = remote;
        const assigneeId = assignee === null ? null : await this.#resolve(assignee, people);
        const isUnassigned = assignee !== null && assigneeId === null;
        const issue = { remote, ...issueOf(remote, tracker), assigneeId, isUnassigned };
        candidates.push({ remote, skipped: null, issue });
      }
    }
    return candidates;
  }

  async #resolve(
    { name, email }: RemotePerson,
    resolved: Map<string, string | null>,
  ): Promise<string | null> {
    const { assignees, people } = this.#configured();
    const known = resolved.get(name);
    if (known !== undefined) return known;
    const mapped = assignees.find((entry) => isSameName(entry.name, name))?.person;
    const reference = mapped ?? (email === null ? undefined : { email });
    const id =
      reference === undefined
        ? null
        : await people.resolveForAssignment(reference, 'assignee').then(toId, unlessUnknown);
    resolved.set(name, id);
    return id;
  }

  #configured(): ConfiguredImport {
    if (this.#import === undefined) throw trackerNotConfigured();
    return this.#import;
  }
}

// Returns the local issue for a remote one, and the base of its first merge. A text that exceeds the local limit is cut;
// the merge records the conflict.
function issueOf(
  remote: RemoteIssue,
  tracker: Pick<ExternalTracker, 'meaningOf' | 'statusOf'>,
): Omit<LocalIssue, 'wasResolved'> & { base: MergeBase } {
  const title = storableTitle(remote.title, remote.key);
  const description = storableDescription(remote.description);
  const status =
    tracker.meaningOf(remote.state) ?? stepsTowards(remote.state, 'OPEN', tracker).at(-1) ?? 'OPEN';
  return {
    title,
    description,
    priority: remote.priority ?? 'MEDIUM',
    status,
    base: {
      title,
      description,
      ...(remote.priority === null ? {} : { priority: remote.priority }),
      status: { local: status, remote: remote.state },
    },
  };
}

// Reads our account at most once. Returns undefined if it cannot, as with the token of a GitHub App.
function accountOf(tracker: ExternalTracker, signal: AbortSignal): () => Promise<string | undefined> {
  let account: Promise<string | TrackerError> | undefined;
  return async () => {
    account ??= problemOr(tracker.findAccount(signal));
    const found = await account;
    return found instanceof TrackerError ? undefined : found;
  };
}

function toId({ id }: { id: string }): string {
  return id;
}

// Returns null if the identity does not exist or is inactive.
function unlessUnknown(error: unknown): null {
  if (error instanceof ProblemError && error.status === 422) return null;
  throw error;
}

function failureOf(error: unknown): { code: string; minSeconds: number; isPostponed: boolean } {
  if (!(error instanceof TrackerError))
    return {
      code: error instanceof ProblemError ? error.code : 'import_failed',
      minSeconds: 0,
      isPostponed: false,
    };
  const { code, retryAfterSeconds: minSeconds = 0, isPostponed } = error;
  return { code, minSeconds, isPostponed };
}

function partsOf(issues: readonly NewImportedIssue[]): NewImportedIssue[][] {
  const parts: NewImportedIssue[][] = [];
  let characters = Number.POSITIVE_INFINITY;
  for (const issue of issues) {
    const length = issue.title.length + issue.description.length;
    characters += length;
    if (characters > charactersPerStatement) {
      parts.push([]);
      characters = length;
    }
    parts.at(-1)?.push(issue);
  }
  return parts;
}

function presentCandidate(
  { provider }: ExternalTracker,
  candidate: Candidate,
): ImportPreview['issues'][number] {
  const { id, key, url, title, isPrivate, assignee } = candidate.remote;
  const issue = candidate.skipped === null ? candidate.issue : undefined;
  return {
    external: { provider, id, key, url },
    action: candidate.skipped === null ? 'import' : 'skip',
    reason: candidate.skipped,
    title: isPrivate ? null : (issue?.title ?? title.slice(0, 255)),
    status: issue?.status ?? null,
    priority: issue?.priority ?? null,
    assignee_id: issue?.assigneeId ?? null,
    external_assignee: isPrivate ? null : (assignee?.name.slice(0, nameMaxLength) ?? null),
  };
}
