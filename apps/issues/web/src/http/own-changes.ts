import type { Issue } from '@tessera/contracts';
import type { IssueQuery, IssueRow } from './api.ts';
import { HttpError } from './http.ts';

let last: Promise<unknown> = Promise.resolve();

/** Sends a change after the response to the user's change before it, also if that was made on another page. */
export function inOrder<Result>(send: () => Promise<Result>): Promise<Result> {
  const sent = last.then(send);
  last = sent.catch(() => undefined);
  return sent;
}

/** The versions that changes of this tab have made, by the key and the version on which they were based. */
const made = new Map<string, number>();

export function noteOwnChange(key: string, based: number, version: number): void {
  // A change of the status has no version of its own.
  if (version > based) made.set(`${key} ${based}`, version);
}

/** Returns the version that a change must carry: those after `version` that this tab has made are no conflict. */
export function ownVersion(key: string, version: number): number {
  const next = made.get(`${key} ${version}`);
  return next === undefined ? version : ownVersion(key, next);
}

/** Returns the issue as another person has changed it, if that is why a change was refused. */
export function conflictingIssue(error: unknown): Issue | undefined {
  if (!(error instanceof HttpError) || error.code !== 'version_conflict') return undefined;
  return error.body.issue as Issue;
}

interface OwnRow {
  row: IssueRow;
  /** When the service had answered; undefined until then. */
  savedAt?: number;
  /** The queries of the lists in which the change has put the row. */
  lists: ReadonlySet<string>;
}

const ownRows = new Map<string, OwnRow>();
const listOf = (query: object) => JSON.stringify(query);
const ownRowsMax = 1_000;

/** Remembers rows as the user has changed them, or as the service has answered. */
export function noteOwnRows(rows: Iterable<IssueRow>, isSaved: boolean): void {
  if (ownRows.size > ownRowsMax) ownRows.clear();
  for (const row of rows) {
    const lists = ownRows.get(row.key)?.lists ?? new Set<string>();
    ownRows.set(row.key, { row, lists, ...(isSaved && { savedAt: performance.now() }) });
  }
}

/** The row as the service has answered to a change before, if that is newer: the next change keeps it. */
export function newestRow(row: IssueRow): IssueRow {
  const own = ownRows.get(row.key);
  return own?.savedAt !== undefined && own.row.updated_at >= row.updated_at ? own.row : row;
}

/** A change has put a row into a list. */
export function noteArrival(key: string, query: object): void {
  const own = ownRows.get(key);
  if (own !== undefined) ownRows.set(key, { ...own, lists: new Set([...own.lists, listOf(query)]) });
}

/**
 * The rows of a list with the user's changes that a read does not know, because it began before they were saved: a card must not
 * go back to its former column, and with it the next key.
 * @param startedAt the time at which the read began, as `performance.now()` tells it
 */
export function withOwnRows(query: IssueQuery, read: readonly IssueRow[], startedAt: number): IssueRow[] {
  const isNews = ({ savedAt = Number.POSITIVE_INFINITY }: OwnRow) => savedAt >= startedAt;
  const known = read.map((row) => {
    const own = ownRows.get(row.key);
    return own !== undefined && isNews(own) ? own.row : row;
  });
  const list = listOf(query);
  const arrived = [...ownRows.values()].filter(
    (own) => own.lists.has(list) && isNews(own) && read.every(({ key }) => key !== own.row.key),
  );
  return [...arrived.map(({ row }) => row), ...known];
}
