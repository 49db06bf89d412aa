import type { QueryClient } from '@tanstack/react-query';
import { fieldTitles, formatNumber } from '../messages.ts';
import { notify, notifyDone } from '../shell/toasts.tsx';
import type { Changed, UndoableField } from './changed.ts';

/** Says that a field of some issues has changed, and offers to undo it. */
export function offerUndo(client: QueryClient, field: UndoableField, changes: readonly Changed[]): void {
  const [first] = changes;
  if (first === undefined) return;
  // The workflow does not lead back from every status.
  const undoable =
    field === 'status'
      ? changes.filter(({ before, after }) => after.allowed_transitions.includes(before.status))
      : changes;
  const of = changes.length === 1 ? first.after.key : `${formatNumber(changes.length)} issues`;
  const text = `${titles[field]} of ${of} changed`;
  notifyDone(
    text,
    undoable.length === 0
      ? undefined
      : () =>
          import('./undo.ts').then(
            ({ undoChanges }) => undoChanges(client, field, undoable),
            () => notify('Not undone: the server cannot be reached.'),
          ),
  );
}

const titles: Record<UndoableField, string> = { ...fieldTitles, title: 'Title', description: 'Description' };
