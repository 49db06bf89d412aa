import { lazyPart } from './shell/lazy-part.tsx';
import type { Place } from './sign-in/own-path.ts';

// Everything but the list is loaded after it, or with the page that needs it.
export const IssuePage = lazyPart(async () => (await import('./issue/issue-page.tsx')).IssuePage);
export const BoardPage = lazyPart(async () => (await import('./board/board-page.tsx')).BoardPage);
export const SettingsPage = lazyPart(async () => (await import('./settings/settings-page.tsx')).SettingsPage);
export const InboxPage = lazyPart(async () => (await import('./inbox/inbox-page.tsx')).InboxPage);
export const MyIssuesPage = lazyPart(
  async () => (await import('./issue-list/my-issues-page.tsx')).MyIssuesPage,
);
export const SignInPage = lazyPart(async () => (await import('./sign-in/sign-in-page.tsx')).SignInPage);

const pages = {
  '/issues/': IssuePage,
  '/inbox': InboxPage,
  '/my': MyIssuesPage,
  '/board': BoardPage,
  '/settings': SettingsPage,
  '/sign-in': SignInPage,
} satisfies Record<'/issues/' | '/sign-in' | `/${Exclude<Place, 'issues'>}`, unknown>;

/** Loads the page of the address while the session is read. */
export function preloadPage(): void {
  for (const [path, page] of Object.entries(pages))
    if (location.pathname.startsWith(path)) page.load().catch(() => undefined);
}

/** So that they open without a connection. */
export function preloadPages(): void {
  for (const page of Object.values(pages)) page.load().catch(() => undefined);
}
