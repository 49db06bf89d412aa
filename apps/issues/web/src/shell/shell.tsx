import { useQuery } from '@tanstack/react-query';
import { Link, Outlet } from '@tanstack/react-router';
import { useState } from 'react';
import { endSession } from '../http/api.ts';
import { sessionQuery } from '../http/queries.ts';
import { CreateDialog } from '../issue/create-dialog.tsx';
import { ConnectionNote } from '../live/connection-note.tsx';
import { useLiveUpdates } from '../live/live-updates.ts';
import { personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { SessionEndedDialog } from '../sign-in/session-ended-dialog.tsx';
import { announceSignOut } from '../sign-in/session-gate.ts';
import { KeyboardIcon, Logo, MoonIcon, PlusIcon, SunIcon } from './icons.tsx';
import { KeyboardHelp } from './keyboard-help.tsx';
import { useShortcuts } from './shortcuts.ts';
import { chooseTheme, currentTheme } from './theme.ts';
import { notify, Toasts } from './toasts.tsx';
import { UserContext } from './user.ts';

/** The frame of every page behind the sign-in. */
export function Shell() {
  const user = useQuery(sessionQuery).data?.user ?? undefined;
  const [open, setOpen] = useState<'create' | 'keyboard'>();
  const [theme, setTheme] = useState(currentTheme);
  const close = () => setOpen(undefined);
  useLiveUpdates();
  useShortcuts({ c: () => setOpen('create'), '?': () => setOpen('keyboard') });
  if (user === undefined) return null;

  const toggleTheme = () => {
    const next = theme === 'dark' ? 'light' : 'dark';
    chooseTheme(next);
    setTheme(next);
  };
  const signOut = async () => {
    try {
      await endSession();
    } catch (error) {
      notify(`You are still signed in. ${error instanceof Error ? error.message : ''}`);
      return;
    }
    announceSignOut();
    // A new document: no data of the user stays in memory.
    location.assign('/sign-in');
  };

  return (
    <UserContext value={user}>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <header className="top">
        <Link to="/issues" className="brand">
          <Logo /> Tessera
        </Link>
        <div className="top-actions">
          <button type="button" className="primary" onClick={() => setOpen('create')}>
            <PlusIcon /> New issue
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
                <strong>{personName(user)}</strong>
                <span className="muted">{user.email}</span>
              </p>
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
      {open === 'create' && <CreateDialog onClose={close} />}
      {open === 'keyboard' && <KeyboardHelp onClose={close} />}
      <SessionEndedDialog userId={user.id} email={user.email} />
      <Toasts />
    </UserContext>
  );
}
