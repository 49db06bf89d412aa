import type { ReactNode } from 'react';

const ownClicks = 'a, button, input, label, summary, [role=button]';

interface ClickToEditProps {
  edit: { isReadOnly: boolean; start: () => void };
  children: ReactNode;
}

/** A text that a click opens for editing, unless the click selects words or means a link or box in it. */
export function ClickToEdit({ edit: { isReadOnly, start }, children }: ClickToEditProps) {
  if (isReadOnly) return <div className="shown-text">{children}</div>;
  return (
    // biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: the button beside it does the same
    <div
      className="shown-text can-edit"
      onClick={({ target }) => {
        const isOwn = (target as Element).closest(ownClicks) !== null;
        // A touch means the page that it scrolls or the text that it reads.
        if (isOwn || !matchMedia('(hover: hover)').matches) return;
        if (document.getSelection()?.isCollapsed !== false) start();
      }}
    >
      {children}
    </div>
  );
}
