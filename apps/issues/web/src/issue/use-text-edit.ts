import type { Issue } from '@tessera/contracts';
import { useEffect, useRef, useState } from 'react';
import { draftNote, useDraft } from '../drafts/use-draft.ts';
import { useUser } from '../shell/user.ts';
import { mayChange } from './access.ts';
import type { Change } from './use-issue-changes.ts';

export interface TextEditProps {
  issue: Issue;
  save: (change: Change) => Promise<boolean>;
  /** Increases when the user discards the draft in the conflict panel. */
  discarded: number;
}

const changedNote = 'Another person has changed it. Saving shows both texts.';

/** The state of editing the title or the description: closed, or open with a draft. */
export function useTextEdit(field: 'title' | 'description', { issue, save, discarded }: TextEditProps) {
  const user = useUser();
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  // The base is the value at the start of editing, although another person may change the issue meanwhile.
  const [base, setBase] = useState<{ text: string; version: number }>();
  const start = base ?? { text: issue[field], version: issue.version };
  const handle = useDraft(`${issue.id}/${field}`, start.text, start.version);
  const { draft, state, clear } = handle;
  const editButton = useRef<HTMLButtonElement>(null);

  const hasDraft = state === 'restored';
  useEffect(() => {
    if (hasDraft) setOpen(true);
  }, [hasDraft]);

  const finish = () => {
    clear();
    setOpen(false);
    setBase(undefined);
  };
  const seen = useRef(discarded);
  useEffect(() => {
    if (seen.current === discarded) return;
    seen.current = discarded;
    finish();
  });

  return {
    isReadOnly: !mayChange(issue, user),
    isOpen,
    isBusy,
    editButton,
    handle,
    text: draft.text,
    /** The text of the status line. */
    note: [draftNote(handle), issue[field] === draft.base ? '' : changedNote].filter(Boolean).join('. '),
    start: () => {
      setBase({ text: issue[field], version: issue.version });
      setOpen(true);
    },
    /** Closes the editor. The draft stays for the next time. */
    close: () => {
      setOpen(false);
      setBase(undefined);
      setTimeout(() => editButton.current?.focus());
    },
    discard: () => {
      finish();
      setTimeout(() => editButton.current?.focus());
    },
    submit: async () => {
      if (isBusy) return;
      const text = field === 'title' ? draft.text.trim() : draft.text;
      if (text === issue[field] || (field === 'title' && text === '')) return finish();
      setBusy(true);
      const isSaved = await save({
        field,
        shown: { [field]: text },
        sent: { [field]: text },
        base: { text: draft.base, version: draft.version },
      });
      setBusy(false);
      if (isSaved && handle.sent(draft.text, text)) finish();
    },
  };
}
