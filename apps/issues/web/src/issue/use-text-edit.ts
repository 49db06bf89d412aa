import type { Issue } from '@tessera/contracts';
import { useEffect, useRef, useState } from 'react';
import { useDraft } from '../drafts/use-draft.ts';
import type { Change } from './use-issue-changes.ts';

export interface TextEditProps {
  issue: Issue;
  save: (change: Change) => Promise<boolean>;
  /** Increases when the user discards the draft in the conflict panel. */
  discarded: number;
}

/** The state of editing the title or the description: closed, or open with a draft. */
export function useTextEdit(field: 'title' | 'description', { issue, save, discarded }: TextEditProps) {
  const handle = useDraft(`${issue.id}/${field}`, issue[field], issue.version);
  const { draft, state, clear } = handle;
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  // The base is the value at the start of editing, although the issue may be read again.
  const [base, setBase] = useState<{ text: string; version: number }>();
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
    isOpen,
    isBusy,
    editButton,
    handle,
    text: draft.text,
    start: () => {
      setBase({ text: issue[field], version: issue.version });
      setOpen(true);
    },
    /** Closes the editor. The draft stays for the next time. */
    close: () => {
      setOpen(false);
      setTimeout(() => editButton.current?.focus());
    },
    discard: () => {
      finish();
      setTimeout(() => editButton.current?.focus());
    },
    submit: async () => {
      if (isBusy) return;
      const text = field === 'title' ? draft.text.trim() : draft.text;
      const start = state === 'none' ? base : { text: draft.base, version: draft.version };
      if (text === issue[field] || (field === 'title' && text === '')) return finish();
      setBusy(true);
      const isSaved = await save({
        field,
        shown: { [field]: text },
        sent: { [field]: text },
        ...(start !== undefined && { base: start }),
      });
      setBusy(false);
      if (isSaved) finish();
    },
  };
}
