import { useRouter, useSearch } from '@tanstack/react-router';
import { lazy, Suspense } from 'react';
import { queryClient, sessionQuery } from '../http/queries.ts';
import { Logo } from '../shell/icons.tsx';
import { useTitle } from '../shell/use-title.ts';
import { isHosted } from './hosted-sign-in.ts';
import { ownPath } from './own-path.ts';
import { SignInForm } from './sign-in-form.tsx';

const loadHosted = () => import('./hosted-sign-in-card.tsx');
const HostedSignInCard = lazy(async () => ({ default: (await loadHosted()).HostedSignInCard }));
const SignedInCard = lazy(async () => ({ default: (await loadHosted()).SignedInCard }));

export function SignInPage() {
  useTitle('Sign in');
  const router = useRouter();
  const { next, problem, popup } = useSearch({ from: '/sign-in' });
  const session = queryClient.getQueryData(sessionQuery.queryKey);
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <h1>
          <Logo /> Sign in to Tessera
        </h1>
        {isHosted() ? (
          <Suspense>
            {session?.user ? (
              <SignedInCard />
            ) : (
              <HostedSignInCard next={next} problem={problem} isPopup={popup !== undefined} />
            )}
          </Suspense>
        ) : (
          <SignInForm
            onSignedIn={(started) => {
              queryClient.setQueryData(sessionQuery.queryKey, started);
              router.history.replace(ownPath(next));
            }}
          />
        )}
      </div>
    </main>
  );
}
