import { Link } from '@tanstack/react-router';
import type { IssueRow } from '../http/api.ts';
import { personName, syncNames } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { BlockedMark, DueMark } from '../people/due-date.tsx';
import { CommentIcon, LabelMark, LockMark, PriorityMark, StatusMark } from '../shell/icons.tsx';
import { RelativeTime } from '../shell/relative-time.tsx';
import type { Group, Grouping } from './groups.ts';

/** Of a row. The others are counted. */
const shownLabels = 2;

/** The head of a group. */
export function GroupMark({ by, group: { value, person } }: { by: Grouping; group: Group }) {
  if (by === 'status') return <StatusMark status={value as 'OPEN'} />;
  if (by === 'priority') return <PriorityMark priority={value as 'LOW'} hasText />;
  if (person === null) return <span>No one</span>;
  return (
    <span className="person">
      <Avatar person={person} />
      <bdi>{personName(person)}</bdi>
    </span>
  );
}

/** Has few elements, because all cells are made again while the list scrolls. */
export function IssueCells({ issue, hasSync }: { issue: IssueRow; hasSync: boolean }) {
  const { key, project, title, priority, status, assignee, labels, sync, comments_count, updated_at } = issue;
  return (
    <>
      <PriorityMark priority={priority} isCell />
      <span role="cell" className="cell-key">
        {key}
        <LockMark visibility={project.visibility} />
      </span>
      <span role="cell" className="cell-title">
        <Link to="/issues/$key" params={{ key }} id={`issue-${key}`} className="title-link" dir="auto">
          {title}
        </Link>
        {labels.length > 0 && (
          <span className="labels">
            {labels.slice(0, shownLabels).map(({ id, name, color }) => (
              <LabelMark key={id} name={name} color={color} />
            ))}
            {labels.length > shownLabels && (
              <span className="more-labels">
                +{labels.length - shownLabels}
                <span className="visually-hidden"> labels</span>
              </span>
            )}
          </span>
        )}
        <BlockedMark issue={issue} />
        <DueMark issue={issue} />
      </span>
      <StatusMark status={status} isCell />
      {assignee === null ? (
        <span role="cell" className="cell-assignee" title="No one" aria-label="No one" />
      ) : (
        <span role="cell" className="cell-assignee" title={personName(assignee)} dir="auto">
          <Avatar person={assignee} />
          {personName(assignee)}
        </span>
      )}
      {hasSync && (
        <span role="cell" className={`cell-sync sync-${sync.state}`}>
          {syncNames[sync.state]}
        </span>
      )}
      <span role="cell" className="cell-comments">
        {comments_count > 0 && (
          <>
            <CommentIcon />
            {comments_count}
            <span className="visually-hidden"> {comments_count === 1 ? 'comment' : 'comments'}</span>
          </>
        )}
      </span>
      <RelativeTime role="cell" className="cell-changed" at={updated_at} />
    </>
  );
}
