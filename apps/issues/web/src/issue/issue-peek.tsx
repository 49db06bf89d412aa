import '../styles/peek.css';
import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useEffect, useRef } from 'react';
import type { IssueRow } from '../http/api.ts';
import { issueQuery } from '../http/queries.ts';
import { MarkdownView } from '../markdown/markdown-view.tsx';
import { formatNumber, personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { BlockedMark, DueMark } from '../people/due-date.tsx';
import { Dialog, focusFirst } from '../shell/dialog.tsx';
import { LabelMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import { onKey } from '../shell/keys.ts';
import { RelativeTime } from '../shell/relative-time.tsx';
import { referencesOf } from './references-of.ts';

interface IssuePeekProps {
  /** As the list has shown it. */
  row: IssueRow;
  /** To the next or the previous row. */
  onMove: (by: 1 | -1) => void;
  onClose: () => void;
}

/** Shows an issue over its list, to read it without leaving the list. */
export function IssuePeek({ row, onMove, onClose }: IssuePeekProps) {
  const { data: issue, isError } = useQuery(issueQuery(row.key));
  const { key, title, status, priority, assignee, labels, comments_count } = issue ?? row;
  const latest = useRef({ key, onMove, onClose });
  latest.current = { key: row.key, onMove, onClose };
  useEffect(() => {
    const press = onKey((pressed, event: KeyboardEvent) => {
      if (event.ctrlKey || event.metaKey || event.altKey) return;
      if (pressed === 'j') latest.current.onMove(1);
      else if (pressed === 'k') latest.current.onMove(-1);
      else if (pressed === ' ') latest.current.onClose();
      else if (pressed === 'o') document.querySelector<HTMLElement>('.peek-open')?.click();
      else return;
      event.preventDefault();
      event.stopPropagation();
    });
    // Before the keys of the page.
    document.addEventListener('keydown', press, { capture: true });
    return () => {
      document.removeEventListener('keydown', press, { capture: true });
      // The dialog gives the focus back to the row or card from which it was opened; the place is that of the last one.
      const shown = latest.current.key;
      setTimeout(() => document.getElementById(`issue-${shown}`)?.focus({ preventScroll: true }));
    };
  }, []);
  return (
    <Dialog title={key} onClose={onClose} isWide isAtTop>
      <article className="peek">
        <div role="status">
          <h3 dir="auto">{title}</h3>
        </div>
        <p className="peek-marks">
          <StatusMark status={status} />
          <PriorityMark priority={priority} hasText />
          {assignee === null ? (
            <span>No one</span>
          ) : (
            <span className="person">
              <Avatar person={assignee} />
              <bdi>{personName(assignee)}</bdi>
            </span>
          )}
          <BlockedMark issue={row} />
          <DueMark issue={row} />
          {labels.map(({ id, name, color }) => (
            <LabelMark key={id} name={name} color={color} />
          ))}
        </p>
        {isError && <p role="alert">The issue could not be loaded.</p>}
        {!isError && issue === undefined && <p className="muted">Loading…</p>}
        {issue?.description === '' && <p className="muted">No description</p>}
        {issue !== undefined && issue.description !== '' && (
          <MarkdownView
            key={issue.id}
            text={issue.description}
            references={referencesOf(issue, issue.mentions)}
            files={issue.attachments}
          />
        )}
        <p className="peek-foot muted">
          <Link to="/issues/$key" params={{ key }} className="peek-open" ref={focusFirst}>
            Open {key}
          </Link>
          <span>
            {formatNumber(comments_count)} {comments_count === 1 ? 'comment' : 'comments'}, changed{' '}
            <RelativeTime at={row.updated_at} />
          </span>
          <span className="wide-only">
            <kbd>j</kbd> <kbd>k</kbd> next, previous
          </span>
        </p>
      </article>
    </Dialog>
  );
}
