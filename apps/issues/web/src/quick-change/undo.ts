import type { QueryClient } from '@tanstack/react-query';
import type { Issue } from '@tessera/contracts';
import { call, readTag } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { inOrder } from '../http/own-changes.ts';
import { issueQuery, refreshIssue, refreshParts } from '../http/queries.ts';
import { notify, notifyDone, takeBack } from '../shell/toasts.tsx';
import { type Changed, isSameValue, type UndoableField } from './changed.ts';

type Label = Issue['labels'][number];

const maxAttempts = 5;
const maxIds = 100;

/**
 * Gives issues the value that a field had before a change. An issue whose field another person has changed since stays as it is,
 * and the user is told.
 */
export async function undoChanges(
  client: QueryClient,
  field: UndoableField,
  changes: readonly Changed[],
): Promise<void> {
  const keys = changes.map(({ after }) => after.key);
  const undo = async () => {
    const conflicts = await inOrder(() =>
      field === 'labels' ? undoLabels(client, changes) : undoEach(client, field, changes),
    );
    const isWhole = conflicts.length === 0;
    if (!isWhole) notify(`Not undone: another person has changed ${conflicts.join(', ')} since.`);
    if (conflicts.length < keys.length) notifyDone('Undone');
  };
  await takeBack(undo, () => {
    void client.invalidateQueries({ queryKey: ['issues'] });
    void client.invalidateQueries({ queryKey: ['counts'] });
  });
}

/** @returns the keys of the issues that another person has changed */
async function undoEach(
  client: QueryClient,
  field: Exclude<UndoableField, 'labels'>,
  changes: readonly Changed[],
): Promise<string[]> {
  const conflicts: string[] = [];
  for (const change of changes) {
    const { key } = change.after;
    const issue = await undoOne(field, change);
    if (issue === undefined) conflicts.push(key);
    else client.setQueryData(issueQuery(key).queryKey, issue);
    if (issue === undefined) void refreshIssue(client, key);
    else refreshParts(client, key);
  }
  return conflicts;
}

/** Changes the issue only as it was read: the tag of the response guards the status too, which has no version. */
async function undoOne(
  field: Exclude<UndoableField, 'labels'>,
  { before, after }: Changed,
): Promise<Issue | undefined> {
  const params = { id: after.key };
  for (let attempt = 1; ; attempt += 1) {
    const { body: issue, tag } = await readTag('getIssue', { params });
    if (!isSameValue(field, issue, after)) return undefined;
    const ifMatch = tag;
    try {
      if (field === 'status')
        return await call('changeIssueStatus', { params, body: { status: before.status }, ifMatch });
      const body =
        field === 'assignee' ? { assignee_id: before.assignee?.id ?? null } : { [field]: before[field] };
      return await call('patchIssue', { params, body, ifMatch });
    } catch (error) {
      // Someone has changed another part in between.
      const isStale = error instanceof HttpError && [409, 412].includes(error.status);
      if (!isStale || attempt === maxAttempts) throw error;
    }
  }
}

/** Labels are added and removed one by one, so those that other people have changed stay. */
async function undoLabels(client: QueryClient, changes: readonly Changed[]): Promise<string[]> {
  const steps = new Map<string, { add: Label[]; remove: Label[]; ids: string[] }>();
  for (const { before, after } of changes) {
    const add = without(before.labels, after.labels);
    const remove = without(after.labels, before.labels);
    const name = JSON.stringify([add, remove].map((labels) => labels.map(({ id }) => id)));
    const step = steps.get(name) ?? { add, remove, ids: [] };
    step.ids.push(after.key);
    steps.set(name, step);
  }
  for (const { add, remove, ids } of steps.values()) {
    if (add.length + remove.length === 0) continue;
    const labels = { add: add.map(({ id }) => ({ id })), remove: remove.map(({ id }) => ({ id })) };
    for (let begin = 0; begin < ids.length; begin += maxIds)
      await call('changeIssues', { body: { ids: ids.slice(begin, begin + maxIds), labels } });
    for (const key of ids) void refreshIssue(client, key);
  }
  return [];
}

const without = (labels: readonly Label[], others: readonly Label[]) =>
  labels.filter(({ id }) => others.every((other) => other.id !== id));
