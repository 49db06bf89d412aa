import { useCallback, useEffect, useRef, useState } from 'react';
import { notify, notifyDone } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { type Draft, deleteDraft, readDraft, writeDraft } from './draft-store.ts';

type DraftState = 'none' | 'saving' | 'saved' | 'restored' | 'failed';

export interface DraftHandle {
  draft: Draft;
  state: DraftState;
  setText: (text: string) => void;
  /** Returns the text at the time of the call, also to a function of an earlier render. */
  latest: () => string;
  /** Returns the Idempotency-Key of the text. It stays the same until the text changes, also over a reload. */
  sendingKey: () => Promise<string>;
  /** Forgets the draft. */
  clear: () => void;
  /** Forgets the draft, and offers to bring it back. @param onBack is called when it is back */
  discard: (onBack: () => void) => void;
  /**
   * Forgets the draft after `text` was sent. If the user has typed since, keeps the draft, based on what was `saved`, and returns
   * false.
   */
  sent: (text: string, saved?: string) => boolean;
}

/**
 * Keeps a text that the user types, by user and scope, over reloads and ended sessions. `isLoading` is true until a stored
 * draft has been looked for.
 */
export function useDraft(scope: string, base: string, version: number): DraftHandle & { isLoading: boolean } {
  const key = `${useUser().id}/${scope}`;
  const fresh = { text: base, base, version };
  const [stored, setStored] = useState<Draft>();
  const [state, setState] = useState<DraftState>('none');
  const [isLoading, setLoading] = useState(true);
  const last = useRef(0);
  // A request outlasts the render that began it, so its end needs the latest text.
  const typed = useRef<string>(undefined);

  useEffect(() => {
    let isCurrent = true;
    typed.current = undefined;
    setStored(undefined);
    setState('none');
    setLoading(true);
    readDraft(key)
      .then((found) => {
        if (!isCurrent || found === undefined) return;
        setStored((typed) => typed ?? found);
        setState((now) => (now === 'none' ? 'restored' : now));
      })
      .catch(() => isCurrent && setState('failed'))
      .finally(() => isCurrent && setLoading(false));
    return () => {
      isCurrent = false;
    };
  }, [key]);

  const draft: Draft = stored ?? fresh;
  const keep = (next: Draft) => {
    const turn = ++last.current;
    const settle = (outcome: DraftState) => last.current === turn && setState(outcome);
    typed.current = next.text;
    setStored(next);
    setState('saving');
    return writeDraft(key, next).then(
      () => settle('saved'),
      () => settle('failed'),
    );
  };
  const clear = useCallback(() => {
    last.current += 1;
    typed.current = undefined;
    setStored(undefined);
    setState('none');
    deleteDraft(key).catch(() => setState('failed'));
  }, [key]);

  return {
    draft,
    state,
    isLoading,
    setText: (text) => {
      const { base: typedOn, version: seen } = draft;
      void keep({ text, base: typedOn, version: seen });
    },
    latest: () => typed.current ?? draft.text,
    sendingKey: async () => {
      const { sentWith = crypto.randomUUID() } = draft;
      await keep({ ...draft, text: typed.current ?? draft.text, sentWith });
      return sentWith;
    },
    clear,
    discard: (onBack) => {
      const discarded = draft;
      clear();
      if (discarded.text === discarded.base) return;
      notifyDone('Draft discarded', () =>
        writeDraft(key, discarded).then(
          () => {
            typed.current = discarded.text;
            setStored(discarded);
            onBack();
          },
          () => notify('This browser cannot store drafts'),
        ),
      );
    },
    sent: (text, saved = text) => {
      const now = typed.current ?? text;
      if (now === text) clear();
      else void keep({ text: now, base: saved, version: draft.version });
      return now === text;
    },
  };
}

const notes: Record<DraftState, string> = {
  none: '',
  saving: 'Saving draft…',
  saved: 'Draft saved',
  restored: 'Draft restored',
  failed: 'This browser cannot store drafts',
};

export const draftNote = ({ state }: DraftHandle) => notes[state];
