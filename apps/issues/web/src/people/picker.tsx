import { type ReactNode, useEffect, useLayoutEffect, useRef, useState } from 'react';
import { ChevronIcon } from '../shell/icons.tsx';
import { Choices, type ChoicesProps } from './choices.tsx';

export interface PickerProps extends ChoicesProps {
  /** The text of the closed picker. */
  summary: ReactNode;
  onOpen?: () => void;
  className?: string;
  /** The id of the button, for commands that open the picker. */
  buttonId?: string;
  isDisabled?: boolean;
}

/** A button that opens a searchable listbox. */
export function Picker(props: PickerProps) {
  const { label, summary, onSearch, onOpen, className = '', buttonId, isDisabled = false } = props;
  const [isOpen, setOpen] = useState(false);
  const root = useRef<HTMLDivElement>(null);
  const button = useRef<HTMLButtonElement>(null);
  const body = useRef<HTMLDivElement>(null);

  useEffect(() => {
    if (!isOpen) return;
    const leave = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false);
    };
    document.addEventListener('pointerdown', leave);
    document.addEventListener('focusin', leave);
    return () => {
      document.removeEventListener('pointerdown', leave);
      document.removeEventListener('focusin', leave);
    };
  }, [isOpen]);

  useLayoutEffect(() => {
    if (isOpen && body.current !== null) keepOnScreen(body.current);
  }, [isOpen]);

  const show = () => {
    onSearch?.('');
    onOpen?.();
    setOpen(true);
  };
  const close = () => {
    setOpen(false);
    button.current?.focus();
  };

  return (
    <div className={`picker ${className}`} ref={root}>
      <button
        type="button"
        id={buttonId}
        ref={button}
        className="picker-button"
        aria-haspopup="listbox"
        aria-expanded={isOpen}
        disabled={isDisabled}
        onClick={() => (isOpen ? close() : show())}
      >
        <span className="visually-hidden">{label}: </span>
        <span className="picker-summary">{summary}</span>
        <ChevronIcon />
      </button>
      {isOpen && (
        <div className="picker-body" ref={body}>
          <Choices {...props} onClose={close} />
        </div>
      )}
    </div>
  );
}

const marginPx = 8;

/** Moves an opened list that would leave the screen. */
function keepOnScreen(body: HTMLElement): void {
  const { left, right, bottom, height } = body.getBoundingClientRect();
  const { clientWidth, clientHeight } = document.documentElement;
  const shift = Math.min(0, clientWidth - marginPx - right) + Math.max(0, marginPx - left);
  if (shift !== 0) body.style.translate = `${shift}px 0`;
  const above = body.parentElement?.getBoundingClientRect().top ?? 0;
  if (bottom > clientHeight - marginPx && above > height + marginPx) body.classList.add('above');
}
