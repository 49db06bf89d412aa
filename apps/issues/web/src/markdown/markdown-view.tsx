import '../styles/editor.css';
import { useNavigate } from '@tanstack/react-router';
import type { AttachedFile } from '@tessera/contracts';
import { type MouseEvent, type SyntheticEvent, useEffect, useRef, useState } from 'react';
import { lazyPart } from '../shell/lazy-part.tsx';
import { portionAt } from './portion.ts';
import type { CardTarget } from './reference-card.tsx';
import type { References } from './references.ts';

const ReferenceCard = lazyPart(
  async () => (await import('./reference-card.tsx')).ReferenceCard,
  () => null,
  () => null,
);

interface MarkdownViewProps {
  text: string;
  references?: References;
  /** The files that the text can show. */
  files?: readonly AttachedFile[] | undefined;
  /** Toggles the box of the list item in a line. Without it, the boxes are pictures of a state. */
  onToggle?: ((line: number) => void) | undefined;
}

const nobody: References = { prefix: 'ISS', people: [] };

/** Shows Markdown; until its renderer is loaded, the start of the plain text. */
export function MarkdownView({ text, references = nobody, files = [], onToggle }: MarkdownViewProps) {
  const element = useRef<HTMLDivElement>(null);
  const shown = useRef<string>(undefined);
  const navigate = useNavigate();
  const [card, setCard] = useState<CardTarget>();
  const isEditable = onToggle !== undefined;
  const { prefix } = references;
  const people = JSON.stringify(references.people);
  // Of files that the text does not name, nothing is shown.
  const named = JSON.stringify(files.filter(({ id }) => text.includes(id)));
  useEffect(() => {
    let isCurrent = true;
    const { current } = element;
    if (current === null) return;
    // What is shown stays until the same text is rendered with other names or files.
    if (shown.current !== text) current.textContent = portionAt(text, 0);
    shown.current = text;
    import('./render.ts').then(
      ({ renderInTurn }) =>
        renderInTurn({
          element: current,
          text,
          references: { prefix, people: JSON.parse(people) as References['people'] },
          files: JSON.parse(named) as AttachedFile[],
          isEditable,
          isCurrent: () => isCurrent,
        }),
      // For example after a lost connection.
      () => {
        if (isCurrent) current.textContent = text;
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [text, prefix, people, named, isEditable]);

  const show = ({ target }: SyntheticEvent) => {
    const link = (target as Element).closest<HTMLAnchorElement>('a[data-issue], a[data-person]');
    if (link === null || link === card?.link) return;
    const { issue, person } = link.dataset;
    setCard({ link, issue, person: references.people.find(({ id }) => id === person) });
  };
  const click = (event: MouseEvent) => {
    const target = event.target as HTMLElement;
    const { line } = target.dataset;
    if (target instanceof HTMLInputElement && line !== undefined) return onToggle?.(Number(line));
    const link = target.closest('a');
    // Another tab or window stays the matter of the browser.
    if (link?.origin !== location.origin || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const { issue, person } = link.dataset;
    if (issue !== undefined) void navigate({ to: '/issues/$key', params: { key: issue } });
    else if (person !== undefined)
      void navigate({ to: '/issues', search: { assignee: person, state: 'all' } });
    else return;
    event.preventDefault();
    setCard(undefined);
  };
  return (
    <>
      {/* biome-ignore lint/a11y/noStaticElementInteractions lint/a11y/useKeyWithClickEvents: of the links and boxes in it, which have the focus and its keys */}
      <div
        className="markdown"
        ref={element}
        onClick={click}
        onMouseOver={show}
        onFocus={show}
        onBlur={() => setCard(undefined)}
      />
      {card !== undefined && <ReferenceCard target={card} onClose={() => setCard(undefined)} />}
    </>
  );
}
