import { useQueryClient } from '@tanstack/react-query';
import type { BulkChange } from '@tessera/client/issues';
import type { Issue, IssuePriority, IssueStatus, Label, User } from '@tessera/contracts';
import { call, type IssueRow, readIssues } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { patchRows, prependRows, rowsOf, shownLists } from '../http/issue-rows.ts';
import {
  conflictingIssue,
  inOrder,
  newestRow,
  noteArrival,
  noteOwnChange,
  noteOwnRows,
  ownVersion,
} from '../http/own-changes.ts';
import { issueQuery, refreshParts } from '../http/queries.ts';
import { formatNumber } from '../messages.ts';
import { notify } from '../shell/toasts.tsx';
import type { Changed, UndoableField } from './changed.ts';
import { offerUndo } from './offer-undo.ts';

/** A change of one field. */
export type RowChange =
  | { status: IssueStatus }
  | { priority: IssuePriority }
  | { assignee: User | null }
  | { due_on: string | null }
  | { add: Label }
  | { remove: Label };

const reasons: Readonly<Record<string, string>> = {
  issue_not_found: 'they no longer exist',
  forbidden: 'you may not change them',
  cannot_read: 'the person may not read them',
  illegal_transition: 'the workflow does not allow the status',
  too_many_labels: 'they have too many labels',
};
const maxIds = 100;

/**
 * Changes the rows of lists: shown at once, undone with the reason if the service refuses. A field of one issue is changed only
 * if no other person has changed this field since it was read; a change of several issues does not compare.
 */
export function useRowChanges(): (rows: readonly IssueRow[], change: RowChange) => Promise<void> {
  const client = useQueryClient();
  const show = (rows: ReadonlyMap<string, IssueRow>, isSaved = false) => {
    noteOwnRows(rows.values(), isSaved);
    for (const queryKey of shownLists(client)) {
      patchRows(client, queryKey, (row) => rows.get(row.key) ?? row);
      // The column of a board to which an issue moves. A column shows only issues of its status.
      const { status } = queryKey[1] as { status?: readonly string[] };
      const known = new Set(rowsOf(client, queryKey).map(({ key }) => key));
      const arriving = [...rows.values()].filter(
        (row) => status?.length === 1 && status[0] === row.status && !known.has(row.key),
      );
      prependRows(client, queryKey, arriving);
      for (const { key } of arriving) noteArrival(key, queryKey[1] as object);
    }
  };
  const showAnswered = (rows: readonly IssueRow[]) => show(byKey(rows), true);
  const byKey = (rows: readonly IssueRow[]) => new Map(rows.map((row) => [row.key, row]));

  return (shown, change) => {
    if (shown.length === 0) return Promise.resolve();
    show(byKey(shown.map((row) => changed(row, change))));
    return inOrder(() => save(shown.map(newestRow), change));
  };

  async function save(rows: readonly IssueRow[], change: RowChange): Promise<void> {
    // The answer to a change before this one has replaced the rows.
    show(byKey(rows.map((row) => changed(row, change))));
    const [row] = rows;
    let saved = 0;
    try {
      if (row !== undefined && rows.length === 1 && !('add' in change || 'remove' in change)) {
        const issue = await changeOne(row, change);
        client.setQueryData(issueQuery(issue.key).queryKey, issue);
        showAnswered([{ ...row, ...issue }]);
        offerUndo(client, fieldOf(change), [{ before: row, after: issue }]);
      } else {
        const done: Changed[] = [];
        try {
          for (; saved < rows.length; saved += maxIds)
            done.push(...(await changeSome(rows.slice(saved, saved + maxIds), change)));
        } finally {
          offerUndo(client, fieldOf(change), done);
        }
      }
    } catch (error) {
      showAnswered(rows.slice(saved));
      if (error instanceof HttpError && error.status === 409) {
        const keys = rows.map(({ key }) => key).join(', ');
        notify(`Not saved: another person has changed ${keys}. You see the current values.`);
        await showCurrent(rows).catch(() => undefined);
      } else notify(`Not saved: ${error instanceof Error ? error.message : ''}`);
    }
    void client.invalidateQueries({ queryKey: ['counts'] });
    for (const { key } of rows) refreshParts(client, key);
  }

  /** @returns the rows that have changed */
  async function changeSome(rows: readonly IssueRow[], change: RowChange): Promise<Changed[]> {
    const keys = rows.map(({ key }) => key);
    const { results } = await call('changeIssues', { body: { ids: keys, ...bulkOf(change) } });
    const refused = results.filter(({ outcome }) => outcome === 'refused');
    const current = byKey(await showCurrent(rows));
    for (const code of new Set(refused.map((result) => result.code ?? ''))) {
      const ids = refused.filter((result) => result.code === code).map(({ id }) => id);
      const some = ids.length > 5 ? `${ids.slice(0, 5).join(', ')} and others` : ids.join(', ');
      notify(
        `${formatNumber(ids.length)} of ${formatNumber(rows.length)} issues were not changed (${some}): ${reasons[code] ?? code}.`,
      );
    }
    const changedIds = new Set(results.filter(({ outcome }) => outcome === 'changed').map(({ id }) => id));
    return rows
      .filter(({ key }) => changedIds.has(key))
      .map((row) => ({ before: row, after: changed(current.get(row.key) ?? row, change) }))
      .map(({ before, after }) => ({ before, after: { ...after, labels: changed(before, change).labels } }));
  }

  async function showCurrent(rows: readonly IssueRow[]): Promise<IssueRow[]> {
    const keys = rows.slice(0, maxIds).map(({ key }) => key);
    const { items } = await readIssues({ id: keys }, undefined, new AbortController().signal);
    showAnswered(items);
    for (const key of keys) void client.invalidateQueries({ queryKey: issueQuery(key).queryKey });
    return items;
  }
}

function fieldOf(change: RowChange): UndoableField {
  if ('status' in change) return 'status';
  if ('priority' in change) return 'priority';
  if ('due_on' in change) return 'due_on';
  return 'assignee' in change ? 'assignee' : 'labels';
}

function changed(row: IssueRow, change: RowChange): IssueRow {
  if ('add' in change)
    return { ...row, labels: [...row.labels.filter(({ id }) => id !== change.add.id), change.add] };
  if ('remove' in change) return { ...row, labels: row.labels.filter(({ id }) => id !== change.remove.id) };
  return { ...row, ...change };
}

type FieldChange = Exclude<RowChange, { add: Label } | { remove: Label }>;
const maxAttempts = 3;

async function changeOne(row: IssueRow, change: FieldChange): Promise<Issue> {
  let version = ownVersion(row.key, row.version);
  for (let attempt = 1; ; attempt += 1) {
    try {
      const issue = await send({ ...row, version }, change);
      noteOwnChange(row.key, version, issue.version);
      return issue;
    } catch (error) {
      const current = conflictingIssue(error);
      // Another field has changed: this change is still based on what the user saw.
      if (current === undefined || !isSame(row, current, change) || attempt === maxAttempts) throw error;
      version = current.version;
    }
  }
}

function isSame(row: IssueRow, current: Issue, change: FieldChange): boolean {
  if ('status' in change) return row.status === current.status;
  if ('priority' in change) return row.priority === current.priority;
  if ('due_on' in change) return row.due_on === current.due_on;
  return row.assignee?.id === current.assignee?.id;
}

function send({ key, version }: IssueRow, change: FieldChange): Promise<Issue> {
  const params = { id: key };
  if ('status' in change) return call('changeIssueStatus', { params, body: { ...change, version } });
  const body = 'assignee' in change ? { assignee_id: change.assignee?.id ?? null } : change;
  return call('patchIssue', { params, body: { ...body, version } });
}

function bulkOf(change: RowChange): BulkChange {
  if ('add' in change) return { labels: { add: [{ id: change.add.id }] } };
  if ('remove' in change) return { labels: { remove: [{ id: change.remove.id }] } };
  if ('assignee' in change) return { assignee_id: change.assignee?.id ?? null };
  return change;
}
