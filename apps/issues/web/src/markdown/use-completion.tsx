import { keepPreviousData, useQuery } from '@tanstack/react-query';
import { type ReactNode, type RefObject, useId, useLayoutEffect, useRef, useState } from 'react';
import { findPeople } from '../http/api.ts';
import { useFoundIssues } from '../issue-list/found-issues.tsx';
import { personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { StatusMark } from '../shell/icons.tsx';
import { useSettled } from '../shell/use-settled.ts';

interface Completion {
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
// Known without a wait from then on: the next key must not meet the list of the text before it.
let grammar: typeof import('@tessera/contracts/markdown') | undefined;
// A `#` after another one, or in a word or an address, begins no number.
const startedIssue = /(?<![\p{L}\p{N}_/#&@.-])#([\p{L}\p{N}\p{M}_-]{1,50})$/u;
const shown = 6;

interface Offer {
  id: string;
  /** Replaces what was typed after the sign. */
  text: string;
  content: ReactNode;
}

/**
 * Completes `@username` in a text with the people of the service, and `#` with a number or words with issues.
 * @param readersOf the key of an issue: only people who may read it
 */
export function useCompletion(
  field: RefObject<HTMLTextAreaElement | null>,
  onChange: (value: string) => void,
  readersOf: string | undefined,
): Completion {
  const [word, setWord] = useState<string>();
  /** The words after a `#`. */
  const [issueWord, setIssueWord] = useState<string>();
  const [active, setActive] = useState(0);
  const caret = useRef<number>(undefined);
  const looks = useRef(0);
  const id = useId();
  const [settled] = useSettled(word ?? '');
  const { data = [], isPlaceholderData: isEarlier } = useQuery({
    queryKey: ['people', settled, readersOf],
    queryFn: ({ signal }) => findPeople(settled, signal, readersOf),
    enabled: word !== undefined,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const isPlaceholderData = isEarlier || settled !== word;
  const words = (word ?? '').toLowerCase();
  const people =
    word === undefined
      ? []
      : data
          .filter(
            ({ name, username }) => !isPlaceholderData || `${username} ${name}`.toLowerCase().includes(words),
          )
          .slice(0, shown);
  const { issues } = useFoundIssues(issueWord ?? '');
  const offers: Offer[] =
    issueWord === undefined
      ? people.map((person) => ({
          id: person.id,
          text: person.username,
          content: (
            <span className="person">
              <Avatar person={person} />
              <span className="person-name" dir="auto">
                {personName(person)}
              </span>
              <span className="muted">@{person.username}</span>
            </span>
          ),
        }))
      : issues.slice(0, shown).map(({ id, key, title, status }) => ({
          id,
          // Its number stays when it moves to another project.
          text: key.slice(key.lastIndexOf('-') + 1),
          content: (
            <>
              <StatusMark status={status} />
              <span className="muted">{key}</span>
              <span className="person-name" dir="auto">
                {title}
              </span>
            </>
          ),
        }));
  const isOpen = offers.length > 0;
  const close = () => {
    looks.current += 1;
    setWord(undefined);
    setIssueWord(undefined);
  };

  const insert = (offer: Offer | undefined) => {
    const { current } = field;
    if (current === null || offer === undefined) return;
    const { value, selectionStart } = current;
    const typed = issueWord ?? grammar?.startedMention(value, selectionStart);
    if (typed === undefined) return;
    const before = `${value.slice(0, selectionStart - typed.length)}${offer.text} `;
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
      if (key === 'ArrowDown') setActive((active + 1) % offers.length);
      else if (key === 'ArrowUp') setActive((active + offers.length - 1) % offers.length);
      else if ((key === 'Enter' && !isWithModifier) || key === 'Tab') insert(offers[active]);
      else if (key === 'Escape') close();
      else return false;
      return true;
    },
    look: ({ value, selectionStart }) => {
      const before = value.slice(Math.max(0, selectionStart - longest), selectionStart);
      if (!maybeStarted.test(before)) {
        close();
        setIssueWord(startedIssue.exec(before)?.[1]);
        setActive(0);
        return;
      }
      setIssueWord(undefined);
      looks.current += 1;
      const look = looks.current;
      const show = (known: NonNullable<typeof grammar>) => {
        grammar = known;
        if (look !== looks.current) return;
        setWord(known.startedMention(value, selectionStart));
        setActive(0);
      };
      if (grammar !== undefined) return show(grammar);
      import('@tessera/contracts/markdown').then(
        show,
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
      <div
        role="listbox"
        id={`${id}-list`}
        aria-label={issueWord === undefined ? 'People to mention' : 'Issues to name'}
        className="mentions"
      >
        {offers.map((offer, index) => (
          // The field keeps the focus and handles the keys.
          <div
            key={offer.id}
            id={`${id}-${index}`}
            role="option"
            aria-selected={index === active}
            className={index === active ? 'option active' : 'option'}
            onPointerDown={(event) => {
              event.preventDefault();
              insert(offer);
            }}
          >
            {offer.content}
          </div>
        ))}
      </div>
    ),
  };
}
