import { useQuery } from '@tanstack/react-query';
import type { Person } from '@tessera/contracts';
import { useEffect, useLayoutEffect, useRef } from 'react';
import { issueQuery } from '../http/queries.ts';
import { personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { PriorityMark, StatusMark } from '../shell/icons.tsx';
import { onKey } from '../shell/keys.ts';

export interface CardTarget {
  link: HTMLAnchorElement;
  issue: string | undefined;
  person: Person | undefined;
}

const gapPx = 6;
const leaveMs = 200;

/** What a link of a text leads to, beside the link. Stays while the pointer is on either. */
export function ReferenceCard({ target, onClose }: { target: CardTarget; onClose: () => void }) {
  const { link, issue, person } = target;
  const card = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const { left, bottom, top } = link.getBoundingClientRect();
    const { current } = card;
    if (current === null) return;
    const { width, height } = current.getBoundingClientRect();
    const isAbove = bottom + gapPx + height > innerHeight;
    current.style.left = `${Math.max(8, Math.min(left, innerWidth - width - 8))}px`;
    current.style.top = `${isAbove ? top - gapPx - height : bottom + gapPx}px`;
  });
  useEffect(() => {
    const ended = new AbortController();
    const options = { signal: ended.signal };
    let timer: ReturnType<typeof setTimeout> | undefined;
    document.addEventListener(
      'pointerover',
      ({ target: over }) => {
        clearTimeout(timer);
        const isOn = link.contains(over as Node) || card.current?.contains(over as Node) === true;
        if (!isOn && document.activeElement !== link) timer = setTimeout(onClose, leaveMs);
      },
      options,
    );
    const press = onKey((key) => {
      if (key === 'Escape') onClose();
    });
    document.addEventListener('keydown', press, options);
    document.addEventListener('scroll', onClose, { ...options, capture: true });
    return () => {
      clearTimeout(timer);
      ended.abort();
    };
  }, [link, onClose]);
  return (
    <div ref={card} className="reference-card" role="status">
      {person !== undefined && (
        <span className="person">
          <Avatar person={person} />
          <span>
            <strong dir="auto">{personName(person)}</strong> <span className="muted">@{person.username}</span>
          </span>
        </span>
      )}
      {issue !== undefined && <IssueCard issueKey={issue} />}
    </div>
  );
}

function IssueCard({ issueKey }: { issueKey: string }) {
  const { data: issue, isError } = useQuery({ ...issueQuery(issueKey), retry: false });
  if (isError) return <span className="muted">{issueKey} cannot be shown</span>;
  if (issue === undefined) return <span className="muted">{issueKey}</span>;
  return (
    <>
      <span>
        <span className="muted">{issue.key}</span> <strong dir="auto">{issue.title}</strong>
      </span>
      <span className="reference-marks">
        <StatusMark status={issue.status} />
        <PriorityMark priority={issue.priority} hasText />
        <span dir="auto">{issue.assignee === null ? 'No one' : personName(issue.assignee)}</span>
      </span>
    </>
  );
}
