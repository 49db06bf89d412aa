import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { User } from '@tessera/contracts';
import { type ReactNode, type RefObject, useId, useLayoutEffect, useRef, useState } from 'react';
import { findPeople } from '../http/api.ts';
import { personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { useSettled } from '../shell/use-settled.ts';

interface Mentions {
  /** Handles a key of the list. @returns whether the key belonged to the list */
  press: (key: string, isWithModifier: boolean) => boolean;
  /** To call after the text or the caret has moved. */
  look: (field: HTMLTextAreaElement) => void;
  close: () => void;
  list: ReactNode;
  /** For the field. */
  attributes: { 'aria-autocomplete': 'list'; 'aria-controls'?: string; 'aria-activedescendant'?: string };
}

// A text without such an end needs no grammar, which is loaded with the first `@`.
const maybeStarted = /@[\p{L}\p{N}\p{M}_.+-]{0,150}$/u;
const longest = 151;
const shown = 6;

/** Completes `@username` in a text with the people of the service. */
export function useMentions(
  field: RefObject<HTMLTextAreaElement | null>,
  onChange: (value: string) => void,
): Mentions {
  const [word, setWord] = useState<string>();
  const [active, setActive] = useState(0);
  const caret = useRef<number>(undefined);
  const looks = useRef(0);
  const id = useId();
  const [settled] = useSettled(word ?? '');
  const { data = [], isPlaceholderData: isEarlier } = useQuery({
    queryKey: ['people', settled],
    queryFn: ({ signal }) => findPeople(settled, signal),
    enabled: word !== undefined,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const isPlaceholderData = isEarlier || settled !== word;
  const words = (word ?? '').toLowerCase();
  const people = data
    .filter(({ name, username }) => !isPlaceholderData || `${username} ${name}`.toLowerCase().includes(words))
    .slice(0, shown);
  const isOpen = word !== undefined && people.length > 0;
  const close = () => {
    looks.current += 1;
    setWord(undefined);
  };

  const insert = (person: User | undefined) => {
    const { current } = field;
    if (current === null || person === undefined) return;
    const { value, selectionStart } = current;
    const before = `${value.slice(0, selectionStart - (word?.length ?? 0))}${person.username} `;
    onChange(before + value.slice(selectionStart));
    close();
    caret.current = before.length;
  };
  // With the text: a key that is pressed before the caret has moved would be written elsewhere.
  useLayoutEffect(() => {
    if (caret.current === undefined) return;
    field.current?.focus();
    field.current?.setSelectionRange(caret.current, caret.current);
    caret.current = undefined;
  });

  return {
    press: (key, isWithModifier) => {
      if (!isOpen) return false;
      if (key === 'ArrowDown') setActive((active + 1) % people.length);
      else if (key === 'ArrowUp') setActive((active + people.length - 1) % people.length);
      else if ((key === 'Enter' && !isWithModifier) || key === 'Tab') insert(people[active]);
      else if (key === 'Escape') close();
      else return false;
      return true;
    },
    look: ({ value, selectionStart }) => {
      const before = value.slice(Math.max(0, selectionStart - longest), selectionStart);
      if (!maybeStarted.test(before)) return close();
      looks.current += 1;
      const look = looks.current;
      import('@tessera/contracts/markdown').then(
        ({ startedMention }) => {
          if (look !== looks.current) return;
          setWord(startedMention(value, selectionStart));
          setActive(0);
        },
        // Without its grammar, for example after a lost connection, the name is typed.
        () => undefined,
      );
    },
    close,
    attributes: {
      'aria-autocomplete': 'list',
      ...(isOpen && { 'aria-controls': `${id}-list`, 'aria-activedescendant': `${id}-${active}` }),
    },
    list: isOpen && (
      <div role="listbox" id={`${id}-list`} aria-label="People to mention" className="mentions">
        {people.map((person, index) => (
          // The field keeps the focus and handles the keys.
          <div
            key={person.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            className={index === active ? 'option active' : 'option'}
            onPointerDown={(event) => {
              event.preventDefault();
              insert(person);
            }}
          >
            <span className="person">
              <Avatar person={person} />
              <span className="person-name" dir="auto">
                {personName(person)}
              </span>
              <span className="muted">@{person.username}</span>
            </span>
          </div>
        ))}
      </div>
    ),
  };
}
