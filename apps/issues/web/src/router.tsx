import {
  createRootRoute,
  createRoute,
  createRouter,
  type ErrorComponentProps,
  redirect,
} from '@tanstack/react-router';
import { HttpError } from './http/http.ts';
import { queryClient, sessionQuery } from './http/queries.ts';
import { validateInboxSearch } from './inbox/views.ts';
import { IssueListPage } from './issue-list/issue-list-page.tsx';
import { validateBoardSearch, validateListSearch, validateMySearch } from './issue-list/list-search.ts';
import {
  BoardPage,
  InboxPage,
  IssuePage,
  MyIssuesPage,
  preloadPage,
  SettingsPage,
  SignInPage,
} from './pages.ts';
import { focusPage } from './shell/focus.ts';
import { Shell } from './shell/shell.tsx';
import { ownPath } from './sign-in/own-path.ts';
import { repeatRefused } from './sign-in/refused-requests.ts';
import { announceSignIn, announceSignOut } from './sign-in/session-gate.ts';

function ErrorPage({ error }: ErrorComponentProps) {
  return (
    <main className="page notice" id="content">
      <h1>The page could not be loaded</h1>
      <p role="alert">{error instanceof HttpError ? error.message : 'An unexpected error.'}</p>
      <button type="button" className="primary" onClick={() => location.reload()}>
        Try again
      </button>
    </main>
  );
}

const root = createRootRoute({
  errorComponent: ErrorPage,
  notFoundComponent: () => (
    <main className="page notice">
      <h1>Page not found</h1>
      <a href="/issues">All issues</a>
    </main>
  ),
});

/** Written by the service: why a sign-in failed, whether the window is one over a page, whether a sign-out ends here. */
const signInSearch = ['next', 'problem', 'popup', 'signed_out'] as const;

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (search: Record<string, unknown>): Partial<Record<(typeof signInSearch)[number], string>> =>
    Object.fromEntries(signInSearch.flatMap((name) => (search[name] ? [[name, String(search[name])]] : []))),
  beforeLoad: async ({ search: { next, popup, signed_out: isSignedOut } }) => {
    // The form also appears if the session cannot be read.
    const session = await queryClient.ensureQueryData(sessionQuery).catch(() => undefined);
    if (session?.user === null && isSignedOut) announceSignOut();
    if (!session?.user) return;
    if (popup === undefined) throw redirect({ href: ownPath(next), replace: true });
    // The page over which this window was opened goes on.
    announceSignIn(session.user.id);
    window.close();
  },
  component: SignInPage,
});

const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  component: Shell,
  beforeLoad: async ({ location }) => {
    const { user } = await queryClient.ensureQueryData(sessionQuery);
    if (user === null) throw redirect({ to: '/sign-in', search: { next: location.href }, replace: true });
    await repeatRefused();
  },
});

const home = createRoute({
  getParentRoute: () => app,
  path: '/',
  beforeLoad: () => {
    throw redirect({ to: '/issues', replace: true });
  },
});

const list = createRoute({
  getParentRoute: () => app,
  path: '/issues',
  validateSearch: validateListSearch,
  component: IssueListPage,
});

const board = createRoute({
  getParentRoute: () => app,
  path: '/board',
  validateSearch: validateBoardSearch,
  component: BoardPage,
});

const inbox = createRoute({
  getParentRoute: () => app,
  path: '/inbox',
  validateSearch: validateInboxSearch,
  component: InboxPage,
});

const my = createRoute({
  getParentRoute: () => app,
  path: '/my',
  validateSearch: validateMySearch,
  component: MyIssuesPage,
});

const settings = createRoute({
  getParentRoute: () => app,
  path: '/settings',
  beforeLoad: () => {
    throw redirect({ to: '/settings/$section', params: { section: 'account' }, replace: true });
  },
});
const settingsSection = createRoute({
  getParentRoute: () => app,
  path: '/settings/$section',
  validateSearch: ({ project }: Record<string, unknown>): { project?: string } =>
    typeof project === 'string' ? { project } : {},
  component: SettingsPage,
});

const issue = createRoute({ getParentRoute: () => app, path: '/issues/$key', component: IssuePage });

preloadPage();

export const router = createRouter({
  routeTree: root.addChildren([
    signIn,
    app.addChildren([home, list, inbox, my, board, settings, settingsSection, issue]),
  ]),
  scrollRestoration: true,
  // In the place of the page, so that the frame stays.
  defaultErrorComponent: ErrorPage,
  // Plain parameters, such as `?status=OPEN&q=17`; the default would write values as JSON.
  parseSearch: (text) => Object.fromEntries(new URLSearchParams(text)),
  stringifySearch: (search) => {
    const given = Object.entries(search).filter(([, value]) => typeof value === 'string' && value !== '');
    const parameters = new URLSearchParams(given as [string, string][]);
    return parameters.size === 0 ? '' : `?${parameters}`;
  },
});

// A link that had the focus disappears with its page. Screen readers then start at the new one.
router.subscribe('onResolved', ({ fromLocation, pathChanged }) => {
  if (fromLocation !== undefined && pathChanged) focusPage();
});

declare module '@tanstack/react-router' {
  interface Register {
    router: typeof router;
  }
}
