import type { Issue } from '@tessera/contracts';
import { useEffect, useRef, useState } from 'react';
import { draftNote, useDraft } from '../drafts/use-draft.ts';
import { useFilesFirst } from '../files/use-files-first.ts';
import { focusIfLost } from '../shell/focus.ts';
import { useMayChange } from './access.ts';
import { isTooLong } from './title-field.tsx';
import type { Base, Change } from './use-issue-changes.ts';

export interface TextEditProps {
  issue: Issue;
  save: (change: Change) => Promise<boolean>;
  /** Is called with the text after each key. */
  onType: (field: 'title' | 'description', text: string) => void;
  /** Increases when the user discards the draft in the conflict panel. */
  discarded: number;
}

/** The id of the field of an open editor. */
export const textFieldId = (field: 'title' | 'description') => `edit-${field}`;

const changedNote = 'It was changed meanwhile. Saving shows both texts.';

/** The state of editing the title or the description: closed, or open with a draft. */
export function useTextEdit(
  field: 'title' | 'description',
  { issue, save, onType, discarded }: TextEditProps,
) {
  const isAllowed = useMayChange(issue);
  const [isOpen, setOpen] = useState(false);
  // An editor that opens because of its draft leaves the focus, and the keys, to the page.
  const [hasFocus, setFocus] = useState(false);
  const [isBusy, setBusy] = useState(false);
  // The base is the value at the start of editing, although another person may change the issue meanwhile.
  const [base, setBase] = useState<{ text: string; version: number }>();
  const start = base ?? { text: issue[field], version: issue.version };
  const scope = `${issue.id}/${field}`;
  const handle = useDraft(scope, start.text, start.version);
  const { draft, state, clear } = handle;
  const filesFirst = useFilesFirst(draft.text);
  const editButton = useRef<HTMLButtonElement>(null);

  const hasDraft = state === 'restored';
  useEffect(() => {
    if (hasDraft) setOpen(true);
  }, [hasDraft]);

  const close = () => {
    setOpen(false);
    setFocus(false);
    setBase(undefined);
    focusIfLost(() => editButton.current);
  };
  const finish = () => {
    clear();
    close();
  };
  const submit = async (on: Base): Promise<boolean> => {
    const typed = handle.latest();
    const text = field === 'title' ? typed.trim() : typed;
    setBusy(true);
    const isSaved = await save({
      field,
      shown: { [field]: text },
      sent: { [field]: text },
      base: on,
      retry: submit,
    });
    setBusy(false);
    if (isSaved && handle.sent(typed, text)) finish();
    return isSaved;
  };
  const seen = useRef(discarded);
  const discard = () => {
    handle.discard(() => {
      setFocus(true);
      setOpen(true);
    });
    close();
  };
  useEffect(() => {
    if (seen.current === discarded) return;
    seen.current = discarded;
    discard();
  });

  return {
    isReadOnly: !isAllowed,
    isOpen,
    hasFocus,
    isBusy,
    editButton,
    handle,
    text: draft.text,
    type: (text: string) => {
      handle.setText(text);
      onType(field, text);
    },
    /** The text of the status line. */
    note: [draftNote(handle), issue[field] === draft.base ? '' : changedNote].filter(Boolean).join('. '),
    start: () => {
      setBase({ text: issue[field], version: issue.version });
      setFocus(true);
      setOpen(true);
    },
    /** Closes the editor. The draft stays for the next time. */
    close,
    discard,
    /** Why the text was not sent, if a file of it is missing. */
    problem: filesFirst.problem,
    scope,
    submit: async () => {
      if (isBusy || (field === 'title' && isTooLong(draft.text))) return;
      const whole = field === 'title' ? draft.text : await filesFirst.complete(handle.latest());
      if (whole === undefined) return;
      if (whole !== handle.latest()) handle.setText(whole);
      const text = field === 'title' ? whole.trim() : whole;
      if (text === issue[field] || (field === 'title' && text === '')) finish();
      else await submit({ text: draft.base, version: draft.version });
    },
  };
}
