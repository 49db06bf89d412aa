import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { Link, Outlet, useLocation, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { forgetDrafts } from '../drafts/draft-store.ts';
import { call } from '../http/api.ts';
import { sessionQuery } from '../http/queries.ts';
import type { CreateDialogProps } from '../issue/create-dialog.tsx';
import { forgetLists, type ListPath, lastSearch, useLastSearch } from '../issue-list/came-from.ts';
import { ConnectionNote } from '../live/connection-note.tsx';
import { useLiveUpdates } from '../live/live-updates.ts';
import { personName } from '../messages.ts';
import { preloadPages } from '../pages.ts';
import type { PaletteProps } from '../palette/palette.tsx';
import { Avatar } from '../people/avatar.tsx';
import { SessionEndedDialog } from '../sign-in/session-ended-dialog.tsx';
import { announceSignOut } from '../sign-in/session-gate.ts';
import { useCommands } from './commands.ts';
import { Dialog, focusFirst } from './dialog.tsx';
import { KeyboardIcon, Logo, MoonIcon, PlusIcon, SunIcon } from './icons.tsx';
import { onKey } from './keys.ts';
import { lazyPart } from './lazy-part.tsx';
import { chooseTheme, currentTheme } from './theme.ts';
import { notify, Toasts, undoLast } from './toasts.tsx';
import { UserContext } from './user.ts';

const notLoaded = (retry: () => void) => (
  <div className="toasts" role="alert">
    <div className="toast">
      <span>The server cannot be reached.</span>
      <button type="button" onClick={retry}>
        Try again
      </button>
    </div>
  </div>
);
const KeyboardHelp = lazyPart(
  async () => (await import('./keyboard-help.tsx')).KeyboardHelp,
  () => null,
  notLoaded,
);
const CreateDialog = lazyPart(
  async () => (await import('../issue/create-dialog.tsx')).CreateDialog,
  ({ typed, onClose }: CreateDialogProps) => (
    <Dialog title="New issue" onClose={onClose} isWide>
      <input
        ref={focusFirst}
        aria-label="Title"
        dir="auto"
        placeholder="Title"
        onChange={({ target }) => {
          typed.current = target.value;
        }}
      />
    </Dialog>
  ),
  notLoaded,
);
const Palette = lazyPart(
  async () => (await import('../palette/palette.tsx')).Palette,
  (props: PaletteProps) => <PaletteField {...props} />,
  notLoaded,
);

/** The frame of every page behind the sign-in. */
export function Shell() {
  const user = useQuery(sessionQuery).data?.user ?? undefined;
  const [open, setOpen] = useState<'create' | 'keyboard' | 'palette'>();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [theme, setTheme] = useState(currentTheme);
  const close = () => setOpen(undefined);
  useLiveUpdates();
  const toggleTheme = () => {
    const next = theme === 'dark' ? 'light' : 'dark';
    chooseTheme(next);
    setTheme(next);
  };
  const signOut = async () => {
    try {
      await call('endSession', {});
    } catch (error) {
      notify(`You are still signed in. ${error instanceof Error ? error.message : ''}`);
      return;
    }
    await forgetDrafts();
    forgetLists();
    announceSignOut();
    // A new document: no data of the user stays in memory.
    location.assign('/sign-in');
  };

  // What the user types before the dialog is loaded.
  const typed = useRef('');
  const isEntered = useRef(false);
  const openPalette = useCallback(() => {
    typed.current = '';
    isEntered.current = false;
    setOpen('palette');
  }, []);
  const create = () => {
    typed.current = '';
    setOpen('create');
  };
  const commands = [
    { key: 'c', name: 'New issue', run: create },
    {
      key: 'g i',
      name: 'Go to the issues',
      run: () => void navigate({ to: '/issues', search: lastSearch('/issues') }),
    },
    {
      key: 'g b',
      name: 'Go to the board',
      run: () => void navigate({ to: '/board', search: lastSearch('/board') }),
    },
    { key: 'g s', name: 'Go to the settings', run: () => void navigate({ to: '/settings' }) },
    { key: 'Ctrl+z', name: 'Undo the last change', run: () => void undoLast() },
    { name: theme === 'dark' ? 'Light theme' : 'Dark theme', run: toggleTheme },
    { name: 'Sign out', run: () => void signOut() },
    { key: '/', name: 'Search', run: openPalette },
    { key: '?', name: 'Keyboard', run: () => setOpen('keyboard') },
  ];
  useCommands(commands, true);
  useEffect(() => {
    const press = onKey((key, event: KeyboardEvent) => {
      if (key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      if (document.querySelector('dialog[open]') !== null) return;
      openPalette();
    });
    document.addEventListener('keydown', press);
    const stop = whenIdle(client, () => {
      preloadPages();
      for (const part of [CreateDialog, Palette, KeyboardHelp]) part.load().catch(() => undefined);
    });
    return () => {
      document.removeEventListener('keydown', press);
      stop();
    };
  }, [client, openPalette]);
  if (user === undefined) return null;

  return (
    <UserContext value={user}>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <Link to="/issues" className="brand">
          <Logo /> <span className="brand-name">Tessera</span>
        </Link>
        <nav className="pages" aria-label="Pages">
          <PageLink to="/issues" name="Issues" />
          <PageLink to="/board" name="Board" />
        </nav>
        <div className="top-actions">
          <button type="button" className="primary" onClick={create}>
            <PlusIcon /> <span className="action-name">New issue</span>
          </button>
          <button
            type="button"
            className="quiet wide-only"
            aria-label="Keyboard"
            onClick={() => setOpen('keyboard')}
          >
            <KeyboardIcon />
          </button>
          <button
            type="button"
            className="quiet"
            aria-label={theme === 'dark' ? 'Light theme' : 'Dark theme'}
            onClick={toggleTheme}
          >
            {theme === 'dark' ? <SunIcon /> : <MoonIcon />}
          </button>
          <details className="menu">
            <summary aria-label={`Account of ${personName(user)}`}>
              <Avatar person={user} />
            </summary>
            <div className="menu-body">
              <p>
                <strong dir="auto">{personName(user)}</strong>
                <span className="muted">{user.email}</span>
              </p>
              <Link to="/settings">Settings</Link>
              <a href="/api/docs/">API documentation</a>
              <button type="button" onClick={() => void signOut()}>
                Sign out
              </button>
            </div>
          </details>
        </div>
      </header>
      <ConnectionNote />
      <Outlet />
      {open === 'create' && <CreateDialog typed={typed} onClose={close} onReopen={create} />}
      {open === 'palette' && <Palette typed={typed} isEntered={isEntered} onClose={close} />}
      {open === 'keyboard' && <KeyboardHelp onClose={close} />}
      <SessionEndedDialog userId={user.id} name={personName(user)} email={user.email} />
      <Toasts />
    </UserContext>
  );
}

/** Leads to the list as it was shown last, and from there to all issues. */
function PageLink({ to, name }: { to: ListPath; name: string }) {
  const last = useLastSearch(to);
  const isThere = useLocation({ select: ({ pathname }) => pathname === to });
  return (
    <Link to={to} search={isThere ? {} : last} activeOptions={{ includeSearch: false }}>
      {name}
    </Link>
  );
}

const quietMs = 500;

/** Calls `act` when the page has its data and nothing to do. @returns a function that prevents it */
function whenIdle(client: QueryClient, act: () => void): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const look = () => {
    if (client.isFetching() > 0) timer = setTimeout(wait, quietMs);
    else act();
  };
  let idle = 0;
  const wait = () => {
    idle = requestIdleCallback(look);
  };
  wait();
  return () => {
    clearTimeout(timer);
    cancelIdleCallback(idle);
  };
}

/** The field of the palette, until the palette is loaded. */
function PaletteField({ typed, isEntered, onClose }: PaletteProps) {
  return (
    <Dialog title="Commands" onClose={onClose} isAtTop>
      <div className="palette">
        <input
          ref={focusFirst}
          aria-label="Commands"
          dir="auto"
          placeholder="Find a command or an issue"
          maxLength={150}
          onChange={({ target }) => {
            typed.current = target.value;
            isEntered.current = false;
          }}
          onKeyDown={onKey((key) => {
            if (key === 'Enter') isEntered.current = true;
          })}
        />
      </div>
    </Dialog>
  );
}
