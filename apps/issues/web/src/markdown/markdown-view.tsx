import { useEffect, useRef } from 'react';
import { portionAt } from './portion.ts';

/** Shows Markdown; until its renderer is loaded, the start of the plain text. */
export function MarkdownView({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isCurrent = true;
    const { current } = element;
    if (current === null) return;
    current.textContent = portionAt(text, 0);
    import('./render.ts').then(
      ({ renderInTurn }) => renderInTurn({ element: current, text, isCurrent: () => isCurrent }),
      // For example after a lost connection.
      () => {
        if (isCurrent) current.textContent = text;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [text]);
  return <div className="markdown" ref={element} />;
}
