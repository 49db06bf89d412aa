import { useSyncExternalStore } from 'react';
import { queryClient, sessionQuery } from '../http/queries.ts';
import { Dialog } from '../shell/dialog.tsx';
import { isSignInNeeded, onGateChange, signedInAgain } from './session-gate.ts';
import { SignInForm } from './sign-in-form.tsx';

/** Opens over the page when the session has ended, so that typed text stays. */
export function SessionEndedDialog({ userId, email }: { userId: string; email: string }) {
  const isOpen = useSyncExternalStore(onGateChange, isSignInNeeded);
  if (!isOpen) return null;
  return (
    <Dialog title="Your session has ended" isRequired>
      <p className="muted">Sign in to continue. The page keeps your changes.</p>
      <SignInForm
        email={email}
        onSignedIn={(session) => {
          // The page shows the data of the first user.
          if (session.user?.id !== userId) return location.reload();
          queryClient.setQueryData(sessionQuery.queryKey, session);
          signedInAgain();
        }}
      />
    </Dialog>
  );
}
