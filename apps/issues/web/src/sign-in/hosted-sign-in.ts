import type { SessionState } from '../http/api.ts';
import { queryClient, sessionQuery } from '../http/queries.ts';

/** Whether people sign in on a page of identity. The service says so with the session, also without a user. */
export function isHosted(
  session: SessionState | undefined = queryClient.getQueryData(sessionQuery.queryKey),
): boolean {
  return session?.sign_in === 'hosted';
}

interface SignInTarget {
  /** The path to which the sign-in returns. */
  next?: string | undefined;
  /** Whether the page belongs to a window that was opened over another. */
  isPopup?: boolean;
  email?: string;
  /** Asks for the password, also if another person is signed in at identity. */
  isOther?: boolean;
}

/** The URL that leads to identity's page and back. */
export function signInUrl({ next, isPopup, email, isOther }: SignInTarget): string {
  const query = new URLSearchParams({
    ...(isPopup ? { popup: '1' } : next !== undefined && { next }),
    ...(email !== undefined && { login_hint: email }),
    ...(isOther && { prompt: 'login' }),
  });
  return `/app/oidc/sign-in?${query}`;
}

/** The path of the page, to which a sign-in returns. */
export const currentPath = () => location.pathname + location.search + location.hash;
