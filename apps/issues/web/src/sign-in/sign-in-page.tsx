import { useRouter, useSearch } from '@tanstack/react-router';
import { queryClient, sessionQuery } from '../http/queries.ts';
import { Logo } from '../shell/icons.tsx';
import { useTitle } from '../shell/use-title.ts';
import { ownPath } from './own-path.ts';
import { SignInForm } from './sign-in-form.tsx';

export function SignInPage() {
  useTitle('Sign in');
  const router = useRouter();
  const { next } = useSearch({ from: '/sign-in' });
  return (
    <main className="sign-in">
      <div className="sign-in-card">
        <h1>
          <Logo /> Sign in to Tessera
        </h1>
        <SignInForm
          onSignedIn={(session) => {
            queryClient.setQueryData(sessionQuery.queryKey, session);
            router.history.replace(ownPath(next));
          }}
        />
      </div>
    </main>
  );
}
