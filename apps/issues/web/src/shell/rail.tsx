import { useQuery } from '@tanstack/react-query';
import { Link, useLocation } from '@tanstack/react-router';
import type { FullUser } from '@tessera/contracts';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import { labelsQuery } from '../http/queries.ts';
import { shownCount, useUnread } from '../http/unread.ts';
import { type ListPath, useLastSearch } from '../issue-list/came-from.ts';
import { labelsText } from '../issue-list/list-search.ts';
import { formatNumber, personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { RailProjects } from '../projects/parts.ts';
import { useOpenView } from '../views/open-view.ts';
import { RailViews } from '../views/parts.ts';
import {
  BoardIcon,
  InboxIcon,
  IssuesIcon,
  KeyboardIcon,
  Logo,
  MenuIcon,
  MoonIcon,
  MyIssuesIcon,
  PlusIcon,
  SearchIcon,
  SidebarIcon,
  SunIcon,
} from './icons.tsx';

/** What the frame offers on every page. */
export interface FrameActions {
  user: FullUser;
  isDark: boolean;
  create: () => void;
  search: () => void;
  showKeys: () => void;
  toggleTheme: () => void;
  toggleRail: () => void;
  signOut: () => void;
  /** Only where people sign in on a page of identity. */
  signOutEverywhere: (() => void) | undefined;
}

/** The ways to the pages, beside every page. Without its names, it has icons that say them when the pointer rests. */
export function Rail({ actions, isOpen }: { actions: FrameActions; isOpen: boolean }) {
  return (
    <header className={isOpen ? 'rail' : 'rail strip'}>
      <div className="rail-head">
        <Brand />
        <button
          type="button"
          className="quiet"
          aria-label="Sidebar"
          aria-expanded={isOpen}
          title={isOpen ? 'Collapse the sidebar ( [ )' : 'Open the sidebar ( [ )'}
          onClick={actions.toggleRail}
        >
          <SidebarIcon />
        </button>
      </div>
      <div className="rail-actions">
        <NewIssue create={actions.create} />
        <button type="button" className="rail-search" onClick={actions.search} title="Search">
          <SearchIcon /> <span className="rail-name">Search</span>
          <span className="rail-keys" aria-hidden="true">
            <kbd>Ctrl</kbd>
            <kbd>K</kbd>
          </span>
        </button>
      </div>
      <Ways hasViews={isOpen} />
      <div className="rail-foot">
        <AccountMenu actions={actions} />
        <button
          type="button"
          className="quiet"
          aria-label="Keyboard"
          title="Keyboard"
          onClick={actions.showKeys}
        >
          <KeyboardIcon />
        </button>
        <ThemeButton actions={actions} />
      </div>
    </header>
  );
}

/** The head of a phone. Its button opens the ways in a sheet. */
export function PhoneHead({ actions }: { actions: FrameActions }) {
  const unread = useUnread();
  const [isOpen, setOpen] = useState(false);
  return (
    <header className="top">
      <button
        type="button"
        className={unread > 0 ? 'quiet top-menu unread' : 'quiet top-menu'}
        aria-label={unread > 0 ? `Menu, ${shownCount(unread)} unread` : 'Menu'}
        aria-haspopup="dialog"
        onClick={() => setOpen(true)}
      >
        <MenuIcon />
      </button>
      <Brand />
      <div className="top-actions">
        <NewIssue create={actions.create} />
        <ThemeButton actions={actions} />
        <AccountMenu actions={actions} />
      </div>
      {isOpen && <Sheet onClose={() => setOpen(false)} />}
    </header>
  );
}

/** The ways over the page of a phone, until one is chosen. */
function Sheet({ onClose }: { onClose: () => void }) {
  const element = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => {
    const dialog = element.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: Escape closes it, too
    <dialog
      ref={element}
      className="sheet"
      aria-label="Menu"
      onCancel={(event) => {
        event.preventDefault();
        onClose();
      }}
      onClick={({ target }) => {
        // Beside the sheet is its backdrop.
        if (target === element.current || (target as Element).closest('a') !== null) onClose();
      }}
    >
      <div className="sheet-body">
        <div className="rail-head">
          <Brand />
          <button type="button" className="quiet" aria-label="Close" onClick={onClose}>
            <span aria-hidden="true">✕</span>
          </button>
        </div>
        <Ways hasViews />
      </div>
    </dialog>
  );
}

const Brand = () => (
  <Link to="/issues" className="brand">
    <Logo /> <span className="brand-name">Tessera</span>
  </Link>
);

const NewIssue = ({ create }: Pick<FrameActions, 'create'>) => (
  <button type="button" className="primary new-issue" title="New issue ( c )" onClick={create}>
    <PlusIcon /> <span className="rail-name">New issue</span>
  </button>
);

function ThemeButton({ actions: { isDark, toggleTheme } }: { actions: FrameActions }) {
  const name = isDark ? 'Light theme' : 'Dark theme';
  return (
    <button type="button" className="quiet" aria-label={name} title={name} onClick={toggleTheme}>
      {isDark ? <SunIcon /> : <MoonIcon />}
    </button>
  );
}

function AccountMenu({ actions: { user, signOut, signOutEverywhere } }: { actions: FrameActions }) {
  return (
    <details className="menu">
      <summary aria-label={`Account of ${personName(user)}`}>
        <Avatar person={user} />
        <span className="rail-name" dir="auto">
          {personName(user)}
        </span>
      </summary>
      <div className="menu-body">
        <p>
          <strong dir="auto">{personName(user)}</strong>
          <span className="muted">{user.email}</span>
        </p>
        <Link to="/settings">Settings</Link>
        <a href="/api/docs/">API documentation</a>
        <button type="button" onClick={signOut}>
          Sign out
        </button>
        {signOutEverywhere !== undefined && (
          <button type="button" onClick={signOutEverywhere}>
            Sign out of all applications
          </button>
        )}
      </div>
    </details>
  );
}

const shownLabels = 8;
/** The links say themselves which of them is the present one. */
const exactly = { exact: true, includeSearch: true };

/** @param hasViews whether there is room for the names of views */
function Ways({ hasViews }: { hasViews: boolean }) {
  const view = useOpenView();
  const unread = useUnread();
  const { data: labels = [] } = useQuery(labelsQuery);
  const [isLong, setLong] = useState(false);
  const chosen = useLocation({
    select: ({ pathname, search }) =>
      pathname === '/issues' && search.saved === undefined ? search.label : undefined,
  });
  return (
    <div className="rail-ways">
      <nav className="pages" aria-label="Pages">
        <ListLink to="/inbox" name="Inbox" icon={<InboxIcon />} count={unread} />
        <ListLink to="/my" name="My issues" icon={<MyIssuesIcon />} />
        <ListLink
          to="/issues"
          name="All issues"
          icon={<IssuesIcon />}
          isElsewhere={(chosen ?? view) !== undefined}
        />
        <ListLink to="/board" name="Board" icon={<BoardIcon />} isElsewhere={view !== undefined} />
      </nav>
      {hasViews && <RailProjects />}
      {hasViews && <RailViews />}
      {labels.length > 0 && (
        <nav className="rail-labels" aria-label="Labels">
          <h2>Labels</h2>
          {labels.slice(0, isLong ? labels.length : shownLabels).map(({ id, name, color }) => (
            <Link
              key={id}
              to="/issues"
              search={{ label: labelsText([name]) }}
              className="way"
              activeProps={{}}
              activeOptions={exactly}
              aria-current={chosen === labelsText([name]) ? 'page' : undefined}
            >
              <span className="dot" aria-hidden="true" style={{ backgroundColor: color }} />
              <span className="way-name" dir="auto">
                {name}
              </span>
            </Link>
          ))}
          {labels.length > shownLabels && (
            <button
              type="button"
              className="way"
              aria-expanded={isLong}
              onClick={() => setLong((was) => !was)}
            >
              {isLong ? 'Show fewer' : `Show all ${formatNumber(labels.length)}`}
            </button>
          )}
        </nav>
      )}
    </div>
  );
}

interface ListLinkProps {
  to: ListPath;
  name: string;
  icon: ReactNode;
  /** Of what is unread there. */
  count?: number;
  /** Another link of the rail names what the list shows. */
  isElsewhere?: boolean;
}

/** Leads to the list as it was shown last, and from there to all issues. */
function ListLink({ to, name, icon, count = 0, isElsewhere = false }: ListLinkProps) {
  const last = useLastSearch(to);
  const isThere = useLocation({ select: ({ pathname }) => pathname === to });
  return (
    <Link
      to={to}
      search={isThere ? {} : last}
      className="way"
      title={name}
      activeProps={{}}
      activeOptions={exactly}
      aria-current={isThere && !isElsewhere ? 'page' : undefined}
    >
      {icon} <span className="way-name">{name}</span>
      {count > 0 && (
        <span className="way-count">
          {shownCount(count)}
          <span className="visually-hidden"> unread</span>
        </span>
      )}
    </Link>
  );
}
