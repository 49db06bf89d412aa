import { type QueryClient, useQuery, useQueryClient } from '@tanstack/react-query';
import { Outlet, useNavigate } from '@tanstack/react-router';
import { useCallback, useEffect, useRef, useState } from 'react';
import { call } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { sessionQuery } from '../http/queries.ts';
import { shownCount, useUnread } from '../http/unread.ts';
import type { CreateDialogProps } from '../issue/create-dialog.tsx';
import { forgetLists, type ListPath, lastSearch } from '../issue-list/came-from.ts';
import { ConnectionNote } from '../live/connection-note.tsx';
import { useLiveUpdates } from '../live/use-live-updates.ts';
import { personName } from '../messages.ts';
import { preloadPages } from '../pages.ts';
import type { PaletteProps } from '../palette/palette.tsx';
import { ProjectCommands } from '../projects/parts.ts';
import { sectionsOf } from '../settings/sections.ts';
import { isHosted } from '../sign-in/hosted-sign-in.ts';
import { SessionEndedDialog } from '../sign-in/session-ended-dialog.tsx';
import { announceSignOut } from '../sign-in/session-gate.ts';
import { ViewCommands } from '../views/parts.ts';
import { useCommands } from './commands.ts';
import { Dialog, focusFirst } from './dialog.tsx';
import { onKey } from './keys.ts';
import { lazyPart } from './lazy-part.tsx';
import { type FrameActions, PhoneHead, Rail } from './rail.tsx';
import { chooseTheme, currentTheme } from './theme.ts';
import { notify, Toasts, undoLast } from './toasts.tsx';
import { useIsPhone, useRail } from './use-rail.ts';
import { useTitleCount } from './use-title.ts';
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
const ViewsDialog = lazyPart(
  async () => (await import('../views/views-dialog.tsx')).ViewsDialog,
  () => null,
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
  const [open, setOpen] = useState<'create' | 'keyboard' | 'palette' | 'views'>();
  const navigate = useNavigate();
  const client = useQueryClient();
  const [theme, setTheme] = useState(currentTheme);
  const isPhone = useIsPhone();
  const [isRailOpen, toggleRail] = useRail(user?.id ?? '');
  const close = () => setOpen(undefined);
  useLiveUpdates();
  const unread = useUnread();
  useTitleCount(unread === 0 ? '' : shownCount(unread));
  const toggleTheme = () => {
    const next = theme === 'dark' ? 'light' : 'dark';
    chooseTheme(next);
    setTheme(next);
  };
  const stillSignedIn = (error: unknown) =>
    notify(
      `You are still signed in. ${error instanceof HttpError ? error.message : 'The server cannot be reached.'}`,
    );
  const signOut = async () => {
    let forget: () => Promise<void>;
    try {
      forget = await forgetting();
      await call('endSession', {});
    } catch (error) {
      return stillSignedIn(error);
    }
    await forget();
    announceSignOut();
    // A new document: no data of the user stays in memory.
    location.assign('/sign-in');
  };

  const signOutEverywhere = async () => {
    try {
      await (await forgetting())();
    } catch (error) {
      return stillSignedIn(error);
    }
    // Ends the session here, then those of all applications in this browser, and comes back to the sign-in page.
    location.assign(`/app/oidc/sign-out?user=${user?.id}`);
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
  const goTo = (key: string, name: string, to: ListPath) => ({
    key: `g ${key}`,
    name: `Go to ${name}`,
    group: 'Go to' as const,
    run: () => void navigate({ to, search: lastSearch(to) }),
  });
  const commands = [
    { key: 'c', name: 'New issue', run: create },
    goTo('n', 'the inbox', '/inbox'),
    goTo('m', 'my issues', '/my'),
    goTo('i', 'the issues', '/issues'),
    goTo('b', 'the board', '/board'),
    { key: 'v', name: 'Views: open or save', group: 'Views' as const, run: () => setOpen('views') },
    {
      key: 'g s',
      name: 'Go to the settings',
      group: 'Go to' as const,
      run: () => void navigate({ to: '/settings' }),
    },
    ...(user === undefined ? [] : sectionsOf(user)).map(([section, { name }]) => ({
      name,
      group: 'Settings' as const,
      isValue: true,
      run: () => void navigate({ to: '/settings/$section', params: { section } }),
    })),
    { key: 'Ctrl+z', name: 'Undo the last change', run: () => void undoLast() },
    { name: theme === 'dark' ? 'Light theme' : 'Dark theme', run: toggleTheme },
    { name: 'Sign out', run: () => void signOut() },
    { key: '/', name: 'Search', run: openPalette },
    ...(isPhone ? [] : [{ key: '[', name: 'Collapse or open the sidebar', run: toggleRail }]),
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
      for (const part of [CreateDialog, Palette, KeyboardHelp, ViewsDialog])
        part.load().catch(() => undefined);
    });
    return () => {
      document.removeEventListener('keydown', press);
      stop();
    };
  }, [client, openPalette]);
  if (user === undefined) return null;
  const actions: FrameActions = {
    user,
    isDark: theme === 'dark',
    create,
    search: openPalette,
    showKeys: () => setOpen('keyboard'),
    toggleTheme,
    toggleRail,
    signOut: () => void signOut(),
    signOutEverywhere: isHosted() ? () => void signOutEverywhere() : undefined,
  };

  return (
    <UserContext value={user}>
      <a className="skip" href="#content">
        Skip to content
      </a>
      <div className={isPhone || isRailOpen ? 'app' : 'app with-strip'}>
        {isPhone ? <PhoneHead actions={actions} /> : <Rail actions={actions} isOpen={isRailOpen} />}
        <div className="app-page">
          <ConnectionNote />
          <Outlet />
        </div>
        {open === 'create' && <CreateDialog typed={typed} onClose={close} onReopen={create} />}
        {open === 'palette' && <Palette typed={typed} isEntered={isEntered} onClose={close} />}
        <ViewCommands />
        <ProjectCommands />
        {open === 'views' && <ViewsDialog onClose={close} />}
        {open === 'keyboard' && <KeyboardHelp onClose={close} />}
        <SessionEndedDialog userId={user.id} name={personName(user)} email={user.email} />
        <Toasts />
      </div>
    </UserContext>
  );
}

/** Loads what deletes the texts and the lists of the user in this browser, before the session ends. */
async function forgetting(): Promise<() => Promise<void>> {
  const { forgetDrafts } = await import('../drafts/draft-store.ts');
  return async () => {
    await forgetDrafts();
    forgetLists();
  };
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
    <Dialog title="Commands" onClose={onClose} isAtTop isWide>
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
