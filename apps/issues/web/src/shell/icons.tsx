import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import type { ReactNode } from 'react';
import { priorityNames, statusNames } from '../messages.ts';

// Icons are decoration: text or a label beside them carries the meaning. Those of every page are one shape each: a list has 600
// elements at most.
export function Icon({ children }: { children: ReactNode }) {
  return (
    <svg
      className="icon"
      viewBox="0 0 16 16"
      width="16"
      height="16"
      fill="none"
      stroke="currentColor"
      strokeWidth="1.5"
      strokeLinecap="round"
      strokeLinejoin="round"
      aria-hidden="true"
    >
      {children}
    </svg>
  );
}

export const Logo = () => (
  <svg className="logo" viewBox="0 0 16 16" width="20" height="20" aria-hidden="true">
    <rect width="16" height="16" rx="3.5" fill="var(--button)" />
    <path d="M3.5 3.5h4v4h-4zM8.5 8.5h4v4h-4z" fill="#fff" />
    <path d="M8.5 3.5h4v4h-4zM3.5 8.5h4v4h-4z" fill="#fff" opacity=".45" />
  </svg>
);

export const PlusIcon = () => (
  <Icon>
    <path d="M8 3v10M3 8h10" />
  </Icon>
);

export const InboxIcon = () => (
  <Icon>
    <path d="M2 9.2 4.2 3.5h7.6L14 9.2v3.3a1 1 0 0 1-1 1H3a1 1 0 0 1-1-1zh3.4a2.6 2.6 0 0 0 5.2 0H14" />
  </Icon>
);

export const MyIssuesIcon = () => (
  <Icon>
    <path d="M5.3 5.2a2.7 2.7 0 1 0 5.4 0 2.7 2.7 0 1 0-5.4 0M2.8 13.5a5.2 5.2 0 0 1 10.4 0" />
  </Icon>
);

export const IssuesIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="5.5" />
    <circle cx="8" cy="8" r="1.2" fill="currentColor" />
  </Icon>
);

export const DensityIcon = () => (
  <Icon>
    <path d="M3 3.5h10M3 6.5h10M3 9.5h10M3 12.5h10" />
  </Icon>
);

export const ViewIcon = () => (
  <Icon>
    <path d="M2.5 4h11M4.5 8h7M6.5 12h3" />
  </Icon>
);

export const BoardIcon = () => (
  <Icon>
    <path d="M2.2 2.5h3.2v11H2.2zM6.4 2.5h3.2v7H6.4zM10.6 2.5h3.2v9h-3.2z" />
  </Icon>
);

export const SidebarIcon = () => (
  <Icon>
    <rect x="1.8" y="2.8" width="12.4" height="10.4" rx="2" />
    <path d="M6.2 3v10" />
  </Icon>
);

export const MenuIcon = () => (
  <Icon>
    <path d="M2.5 4.5h11M2.5 8h11M2.5 11.5h11" />
  </Icon>
);

export const SearchIcon = () => (
  <Icon>
    <path d="M3 7a4 4 0 1 0 8 0 4 4 0 1 0-8 0M10 10l3.5 3.5" />
  </Icon>
);

export const CommentIcon = () => (
  <Icon>
    <path d="M2.5 3.5h11v7h-6l-3 2.5v-2.5h-2z" />
  </Icon>
);

export const ChevronIcon = () => (
  <Icon>
    <path d="m4.5 6.5 3.5 3.5 3.5-3.5" />
  </Icon>
);

export const SunIcon = () => (
  <Icon>
    <circle cx="8" cy="8" r="2.8" />
    <path d="M8 1.5v1M8 13.5v1M1.5 8h1M13.5 8h1M3.4 3.4l.7.7M11.9 11.9l.7.7M3.4 12.6l.7-.7M11.9 4.1l.7-.7" />
  </Icon>
);

export const MoonIcon = () => (
  <Icon>
    <path d="M13 9.5A5.5 5.5 0 0 1 6.5 3 5.5 5.5 0 1 0 13 9.5z" />
  </Icon>
);

export const KeyboardIcon = () => (
  <Icon>
    <rect x="1.5" y="4" width="13" height="8" rx="1.5" />
    <path d="M4 6.5h.01M6.7 6.5h.01M9.3 6.5h.01M12 6.5h.01M5 9.5h6" />
  </Icon>
);

/** Beside what not everyone reads. */
export const LockMark = ({ visibility }: { visibility: string }) =>
  visibility === 'everyone' ? null : (
    <span className="lock" title="Not everyone reads this">
      <Icon>
        <path d="M5 7V5a3 3 0 0 1 6 0v2M3.5 7h9v6.5h-9z" />
      </Icon>
      <span className="visually-hidden"> (not everyone reads this)</span>
    </span>
  );

interface MarkProps {
  /** The mark is the cell of a list itself: a list has hundreds of them. */
  isCell?: boolean;
}

// CSS draws the bars and the shapes, for the same reason.
export function PriorityMark({
  priority,
  hasText = false,
  isCell = false,
}: MarkProps & { priority: IssuePriority; hasText?: boolean }) {
  return (
    <span
      role={isCell ? 'cell' : undefined}
      className={`${isCell ? 'cell-priority ' : ''}priority priority-${priority.toLowerCase()}`}
      title={priorityNames[priority]}
    >
      <span className={hasText ? undefined : 'visually-hidden'}>{priorityNames[priority]}</span>
    </span>
  );
}

export function StatusMark({ status, isCell = false }: MarkProps & { status: IssueStatus }) {
  return (
    <span
      role={isCell ? 'cell' : undefined}
      className={`${isCell ? 'cell-status ' : ''}status status-${status.toLowerCase()}`}
      title={isCell ? statusNames[status] : undefined}
    >
      {statusNames[status]}
    </span>
  );
}

export function LabelMark({ name, color }: { name: string; color: string }) {
  return (
    <span className="label">
      <span className="dot" aria-hidden="true" style={{ backgroundColor: color }} />
      <span className="label-name" dir="auto">
        {name}
      </span>
    </span>
  );
}
