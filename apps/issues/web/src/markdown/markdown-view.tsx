import { useEffect, useRef } from 'react';

/** Shows Markdown; until its renderer is loaded, the plain text. */
export function MarkdownView({ text }: { text: string }) {
  const element = useRef<HTMLDivElement>(null);
  useEffect(() => {
    let isCurrent = true;
    if (element.current !== null) element.current.textContent = text;
    import('./render.ts').then(
      ({ renderMarkdown }) => isCurrent && element.current !== null && renderMarkdown(element.current, text),
      // The plain text stays, for example after a lost connection.
      () => undefined,
    );
    return () => {
      isCurrent = false;
    };
  }, [text]);
  return <div className="markdown" ref={element} />;
}
