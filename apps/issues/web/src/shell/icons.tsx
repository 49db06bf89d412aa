import type { IssuePriority, IssueStatus } from '@tessera/contracts';
import type { ReactNode } from 'react';
import { priorityNames, statusNames } from '../messages.ts';

// Icons are decoration: text or a label beside them carries the meaning.
function Icon({ children }: { children: ReactNode }) {
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

export const SearchIcon = () => (
  <Icon>
    <circle cx="7" cy="7" r="4" />
    <path d="m10 10 3.5 3.5" />
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

// CSS draws the bars and the dot: a list has hundreds of them.
export function PriorityMark({ priority, hasText = false }: { priority: IssuePriority; hasText?: boolean }) {
  return (
    <span className={`priority priority-${priority.toLowerCase()}`} title={priorityNames[priority]}>
      <span className={hasText ? undefined : 'visually-hidden'}>{priorityNames[priority]}</span>
    </span>
  );
}

export function StatusMark({ status }: { status: IssueStatus }) {
  return <span className={`status status-${status.toLowerCase()}`}>{statusNames[status]}</span>;
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
