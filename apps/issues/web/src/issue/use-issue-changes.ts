import { useQueryClient } from '@tanstack/react-query';
import type { IssueChange } from '@tessera/client/issues';
import type { Issue, IssueStatus } from '@tessera/contracts';
import { useRef, useState } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { conflictingIssue, inOrder, noteOwnChange, ownVersion } from '../http/own-changes.ts';
import { issueQuery, refreshParts } from '../http/queries.ts';
import { type FieldName, fieldNames, personName } from '../messages.ts';
import { isSameValue } from '../quick-change/changed.ts';
import { offerUndo } from '../quick-change/offer-undo.ts';
import { notify } from '../shell/toasts.tsx';

export type EditableField = FieldName;

/** A change that the service refused because the same field has changed meanwhile. */
export interface Conflict {
  field: EditableField;
  base: string;
  theirs: string;
  mine: string;
  retry: () => Promise<boolean>;
  /** The issue with the other change. */
  current: Issue;
}

export interface Change {
  field: EditableField;
  /** The members that the page shows until the response arrives. */
  shown: Partial<Issue>;
  sent: Omit<IssueChange, 'version'> | { status: IssueStatus };
  /** The value on which the change is based, and its version. Default: those of the issue. */
  base?: Base;
  /** Saves it again after a conflict, based on what the other person has saved. Default: the same change. */
  retry?: (base: Base) => Promise<boolean>;
}

export interface Base {
  text: string;
  version: number;
}

const maxAttempts = 3;

/** Saves changes of an issue: shown at once, undone with the reason if the service refuses them. */
export function useIssueChanges(issue: Issue | undefined) {
  const client = useQueryClient();
  const [conflict, setConflict] = useState<Conflict>();
  const { current: unsaved } = useRef<Change[]>([]);

  /** An issue with the changes that are not saved yet. */
  const withUnsaved = (current: Issue): Issue =>
    Object.assign({}, current, ...unsaved.map(({ shown }) => shown));
  const show = (current: Issue) =>
    client.setQueryData(issueQuery(current.key).queryKey, withUnsaved(current));

  const save = async (change: Change, onto: Issue): Promise<boolean> => {
    const { queryKey } = issueQuery(onto.key);
    const base = change.base ?? { text: textOf(onto, change.field), version: onto.version };
    unsaved.push(change);
    await client.cancelQueries({ queryKey });
    show(client.getQueryData(queryKey) ?? onto);
    const { current, isSaved } = await inOrder(() => send({ ...change, base }, onto));
    unsaved.splice(unsaved.indexOf(change), 1);
    // What was read before the change was saved must not replace it.
    const isRead = client.isFetching({ queryKey }) > 0;
    await client.cancelQueries({ queryKey });
    show(current);
    if (isRead) void client.invalidateQueries({ queryKey });
    if (isSaved && !isSameValue(change.field, onto, { ...current, ...change.shown }))
      offerUndo(client, change.field, [{ before: onto, after: { ...current, ...change.shown } }]);
    return isSaved;
  };

  /** Returns the issue that the page shows then. Never throws. */
  const send = async (
    change: Change & { base: Base },
    onto: Issue,
  ): Promise<{ current: Issue; isSaved: boolean }> => {
    const { queryKey } = issueQuery(onto.key);
    const { field, shown, sent, base } = change;
    const params = { id: onto.key };
    let version = ownVersion(onto.key, base.version);
    for (let attempt = 1; ; attempt += 1) {
      try {
        const saved =
          'status' in sent
            ? await call('changeIssueStatus', { params, body: { ...sent, version } })
            : await call('patchIssue', { params, body: { ...sent, version } });
        noteOwnChange(onto.key, version, saved.version);
        setConflict(undefined);
        refreshParts(client, onto.key);
        void client.invalidateQueries({ queryKey: ['issues'] });
        return { current: saved, isSaved: true };
      } catch (error) {
        const current = conflictingIssue(error);
        if (current === undefined) {
          notify(`Not saved: ${reasonOf(error)}`);
          if (error instanceof HttpError && error.status === 409) void client.invalidateQueries({ queryKey });
          const undone = Object.keys(shown).map((member) => [member, onto[member as keyof Issue]]);
          const present = client.getQueryData<Issue>(queryKey) ?? onto;
          return { current: { ...present, ...Object.fromEntries(undone) }, isSaved: false };
        }
        const theirs = textOf(current, field);
        const mine = textOf({ ...current, ...shown }, field);
        // The response to the same change was lost, or both want the same.
        if (theirs === mine && field !== 'status') {
          setConflict(undefined);
          return { current, isSaved: true };
        }
        // Another field has changed: this change is still based on what the user saw.
        if (theirs === base.text && attempt < maxAttempts) {
          version = current.version;
          show(current);
          continue;
        }
        const onTheirs = { text: theirs, version: current.version };
        const retry = () => change.retry?.(onTheirs) ?? save({ ...change, base: onTheirs }, current);
        setConflict({ field, base: base.text, theirs, mine, retry, current });
        return { current, isSaved: false };
      }
    }
  };

  return {
    conflict,
    /** The issue with what the next change has to keep, also before the page shows it. */
    latest: () => issue && withUnsaved(client.getQueryData<Issue>(issueQuery(issue.key).queryKey) ?? issue),
    dismissConflict: () => setConflict(undefined),
    /** The user types on while the conflict is shown. */
    showMine: (field: EditableField, mine: string) =>
      setConflict((shown) => (shown?.field === field ? { ...shown, mine } : shown)),
    save: (change: Change) => (issue === undefined ? Promise.resolve(false) : save(change, issue)),
  };
}

/** Returns a field as text, to compare and to show it. */
function textOf(issue: Issue, field: EditableField): string {
  if (field === 'assignee') return issue.assignee === null ? 'No one' : personName(issue.assignee);
  if (field === 'labels') return issue.labels.map(({ name }) => name).join(', ');
  return issue[field] ?? '';
}

function reasonOf(error: unknown): string {
  if (!(error instanceof HttpError)) return 'an unexpected error.';
  if (error.code === 'illegal_transition') return 'the status has been changed by another person.';
  return error.message;
}

export const fieldName = (field: string) => (fieldNames as Readonly<Record<string, string>>)[field] ?? field;
