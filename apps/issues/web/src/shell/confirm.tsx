import { useRef, useState } from 'react';
import { Dialog } from './dialog.tsx';
import { focusIfLost } from './focus.ts';

interface ConfirmProps {
  /** The text of the button that opens the question. */
  name: string;
  /** The name of the button for screen readers, where several have the same text. */
  label?: string;
  title: string;
  text: string;
  action: () => Promise<unknown>;
}

/** A button for an action that cannot be undone. It asks first, and shows why the action failed. */
export function Confirm({ name, label, title, text, action }: ConfirmProps) {
  const [isOpen, setOpen] = useState(false);
  const [isBusy, setBusy] = useState(false);
  const [problem, setProblem] = useState('');
  const button = useRef<HTMLButtonElement>(null);
  const act = async () => {
    const neighbour = neighbourOf(button.current);
    setBusy(true);
    setProblem('');
    try {
      await action();
      setOpen(false);
      // The entry of the button is gone.
      focusIfLost(neighbour);
    } catch (error) {
      setProblem(error instanceof Error ? error.message : 'Try again.');
    } finally {
      setBusy(false);
    }
  };
  return (
    <>
      <button type="button" ref={button} aria-label={label} onClick={() => setOpen(true)}>
        {name}
      </button>
      {isOpen && (
        <Dialog title={title} onClose={() => setOpen(false)}>
          <p>{text}</p>
          <p className="form-problem" role="alert">
            {problem}
          </p>
          <div className="actions end">
            <button type="button" onClick={() => setOpen(false)}>
              Cancel
            </button>
            <button type="button" className="danger" disabled={isBusy} onClick={() => void act()}>
              {name}
            </button>
          </div>
        </Dialog>
      )}
    </>
  );
}

/** Returns a function that finds where to go on when the entry of a list is gone: at the one in its place, or before it. */
export function neighbourOf(button: HTMLElement | null): () => HTMLElement | null | undefined {
  const item = button?.closest('li');
  const list = item?.parentElement;
  const place = item ? [...(list?.children ?? [])].indexOf(item) : -1;
  return () => {
    const items = list?.children ?? [];
    const next = items[Math.min(place, items.length - 1)];
    return next?.querySelector<HTMLElement>('button, a') ?? list?.parentElement?.querySelector('button');
  };
}
