import { type ReactNode, useId, useLayoutEffect, useRef } from 'react';
import { focusPage } from './focus.ts';

interface DialogProps {
  title: string;
  children: ReactNode;
  onClose?: () => void;
  /** Escape does not close the dialog. */
  isRequired?: boolean;
  isWide?: boolean;
  /** Grows downwards: its field stays where it is while the list below it changes. */
  isAtTop?: boolean;
}

/** A ref for the field that gets the focus when its dialog opens. React's `autoFocus` comes before the dialog is open. */
export function focusFirst(field: HTMLElement | null): void {
  field?.setAttribute('autofocus', '');
}

/** A ref for a field that appears while a person types: it gets the focus at once. */
export function focusNow(field: HTMLElement | null): void {
  field?.focus();
}

/** A modal dialog. The browser keeps the focus inside and returns it afterwards. */
export function Dialog({
  title,
  children,
  onClose,
  isRequired = false,
  isWide = false,
  isAtTop = false,
}: DialogProps) {
  const element = useRef<HTMLDialogElement>(null);
  const id = useId();
  // A dialog returns the focus only if it is closed before React removes it.
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    // Without `autofocus`, the browser gives the focus to the first button, which closes the dialog.
    if (dialog?.querySelector('[autofocus]') === null)
      dialog.querySelector<HTMLElement>('form :is(input, select, textarea), .actions button')?.focus();
    return () => {
      dialog?.close();
      // The page itself takes no focus that is returned.
      focusPage();
    };
  }, []);
  return (
    <dialog
      ref={element}
      className={['dialog', isWide && 'wide', isAtTop && 'at-top'].filter(Boolean).join(' ')}
      aria-labelledby={id}
      onCancel={(event) => {
        if (event.target !== element.current) return;
        event.preventDefault();
        if (!isRequired) onClose?.();
      }}
    >
      <header className="dialog-head">
        <h2 id={id}>{title}</h2>
        {!isRequired && (
          <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
            <span aria-hidden="true">✕</span>
          </button>
        )}
      </header>
      {children}
    </dialog>
  );
}
