import { useQuery } from '@tanstack/react-query';
import { Link, Outlet, useNavigate } from '@tanstack/react-router';
import { lazy, type RefObject, Suspense, useEffect, useRef, useState } from 'react';
import { forgetDrafts } from '../drafts/draft-store.ts';
import { call } from '../http/api.ts';
import { sessionQuery } from '../http/queries.ts';
import { CreateDialog } from '../issue/create-dialog.tsx';
import { ConnectionNote } from '../live/connection-note.tsx';
import { useLiveUpdates } from '../live/live-updates.ts';
import { personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { SessionEndedDialog } from '../sign-in/session-ended-dialog.tsx';
import { announceSignOut } from '../sign-in/session-gate.ts';
import { useCommands } from './commands.ts';
import { Dialog, focusFirst } from './dialog.tsx';
import { KeyboardIcon, Logo, MoonIcon, PlusIcon, SunIcon } from './icons.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';
import { onKey } from './keys.ts';
import { chooseTheme, currentTheme } from './theme.ts';
import { notify, Toasts } from './toasts.tsx';
import { UserContext } from './user.ts';

const loadPalette = () => import('../palette/palette.tsx');
const Palette = lazy(async () => ({ default: (await loadPalette()).Palette }));

/** The frame of every page behind the sign-in. */
export function Shell() {
  const user = useQuery(sessionQuery).data?.user ?? undefined;
  const [open, setOpen] = useState<'create' | 'keyboard' | 'palette'>();
  const navigate = useNavigate();
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
    announceSignOut();
    // A new document: no data of the user stays in memory.
    location.assign('/sign-in');
  };

  // What the user types before the palette is loaded.
  const typed = useRef('');
  const commands = [
    { key: 'c', name: 'New issue', run: () => setOpen('create') },
    { key: 'g i', name: 'Go to the issues', run: () => void navigate({ to: '/issues' }) },
    { key: 'g b', name: 'Go to the board', run: () => void navigate({ to: '/board' }) },
    { key: 'g s', name: 'Go to the settings', run: () => void navigate({ to: '/settings' }) },
    { name: theme === 'dark' ? 'Light theme' : 'Dark theme', run: toggleTheme },
    { name: 'Sign out', run: () => void signOut() },
    { key: '/', name: 'Search', run: () => setOpen('palette') },
    { key: '?', name: 'Keyboard', run: () => setOpen('keyboard') },
  ];
  useCommands(commands, true);
  useEffect(() => {
    const press = onKey((key, event: KeyboardEvent) => {
      if (key.toLowerCase() !== 'k' || !(event.ctrlKey || event.metaKey) || event.altKey) return;
      event.preventDefault();
      if (document.querySelector('dialog[open]') !== null) return;
      typed.current = '';
      setOpen('palette');
    });
    document.addEventListener('keydown', press);
    requestIdleCallback(() => loadPalette().catch(() => undefined));
    return () => document.removeEventListener('keydown', press);
  }, []);
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
          <Link to="/issues" activeOptions={{ includeSearch: false }}>
            Issues
          </Link>
          <Link to="/board" activeOptions={{ includeSearch: false }}>
            Board
          </Link>
        </nav>
        <div className="top-actions">
          <button type="button" className="primary" onClick={() => setOpen('create')}>
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
      <Suspense
        fallback={
          <main id="content" className="page" aria-busy="true">
            <h1 className="visually-hidden">Loading…</h1>
          </main>
        }
      >
        <Outlet />
      </Suspense>
      {open === 'create' && <CreateDialog onClose={close} />}
      {open === 'palette' && (
        <Suspense fallback={<PaletteField typed={typed} onClose={close} />}>
          <Palette typed={typed} onClose={close} />
        </Suspense>
      )}
      {open === 'keyboard' && <KeyboardHelp onClose={close} />}
      <SessionEndedDialog userId={user.id} name={personName(user)} email={user.email} />
      <Toasts />
    </UserContext>
  );
}

/** The field of the palette, until the palette is loaded. */
function PaletteField({ typed, onClose }: { typed: RefObject<string>; onClose: () => void }) {
  return (
    <Dialog title="Commands" onClose={onClose}>
      <div className="palette">
        <input
          ref={focusFirst}
          aria-label="Commands"
          dir="auto"
          placeholder="Find a command or an issue"
          maxLength={150}
          onChange={({ target }) => {
            typed.current = target.value;
          }}
        />
      </div>
    </Dialog>
  );
}
