import { useRouter, useSearch } from '@tanstack/react-router';
import { queryClient, sessionQuery } from '../http/queries.ts';
import { Logo } from '../shell/icons.tsx';
import { useTitle } from '../shell/use-title.ts';
import { SignInForm } from './sign-in-form.tsx';

export function SignInPage() {
  useTitle('Sign in');
  const router = useRouter();
  const { next } = useSearch({ from: '/sign-in' });
  return (
    <main className="sign-in">
      <div className="card">
        <h1>
          <Logo /> Sign in to Tessera
        </h1>
        <SignInForm
          onSignedIn={(session) => {
            queryClient.setQueryData(sessionQuery.queryKey, session);
            router.history.replace(ownPath(next) ?? '/issues');
          }}
        />
      </div>
    </main>
  );
}

/** Returns a target of the URL if it is a path of this app, not of another site. */
function ownPath(target = ''): string | undefined {
  if (!URL.canParse(target, location.origin)) return undefined;
  const { origin, pathname, search, hash } = new URL(target, location.origin);
  const isOwn = origin === location.origin && /^\/(?:issues|board|settings)(?:\/|$)/.test(pathname);
  return isOwn ? pathname + search + hash : undefined;
}
