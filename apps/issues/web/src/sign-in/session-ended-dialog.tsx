import { useSyncExternalStore } from 'react';
import { queryClient, sessionQuery } from '../http/queries.ts';
import { Dialog } from '../shell/dialog.tsx';
import { isHosted } from './hosted-sign-in.ts';
import { HostedSignInAgain } from './hosted-sign-in-card.tsx';
import { onGateChange, reasonToSignIn, signedInAgain } from './session-gate.ts';
import { SignInForm } from './sign-in-form.tsx';

interface SessionEndedDialogProps {
  userId: string;
  name: string;
  email: string;
}

// A part of the frame: a browser that could not load its files would not ask for them again.
/** Opens over the page when the session has ended or has become that of another person, so that typed text stays. */
export function SessionEndedDialog({ userId, name, email }: SessionEndedDialogProps) {
  const reason = useSyncExternalStore(onGateChange, reasonToSignIn);
  if (reason === undefined) return null;
  const isOther = reason === 'other';
  return (
    <Dialog title={isOther ? 'Another person has signed in' : 'Your session has ended'} isRequired>
      <p className="muted">
        {isOther
          ? `This page belongs to ${name} and has stopped. Its drafts are kept for ${name}. Sign in as ${name} to continue.`
          : 'Sign in to continue. The page keeps your changes.'}
      </p>
      {isHosted() ? (
        <HostedSignInAgain email={email} isOther={isOther} />
      ) : (
        <SignInForm
          email={email}
          onSignedIn={(session) => {
            // The page shows the data of the first user.
            if (session.user?.id !== userId) return location.reload();
            queryClient.setQueryData(sessionQuery.queryKey, session);
            signedInAgain();
          }}
        />
      )}
      {isOther && (
        <button type="button" onClick={() => location.reload()}>
          Continue as the other person
        </button>
      )}
    </Dialog>
  );
}
