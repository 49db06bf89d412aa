import { useState } from 'react';
import { focusNow } from '../shell/dialog.tsx';
import { currentPath, signInUrl } from './hosted-sign-in.ts';
import { keepRefused } from './refused-requests.ts';

interface HostedSignInCardProps {
  next: string | undefined;
  problem: string | undefined;
  isPopup: boolean;
}

const problems: Readonly<Record<string, string>> = {
  expired: 'The sign-in took too long, or began in another browser. Try again.',
  refused: 'The sign-in was cancelled.',
  inactive: 'This account is not active. Ask an administrator.',
  unavailable: 'The sign-in is not available right now. Try again in a moment.',
};

/** The sign-in page without a form: the page of identity has it. */
export function HostedSignInCard({ next, problem, isPopup }: HostedSignInCardProps) {
  return (
    <div className="sign-in-form">
      {problem !== undefined && (
        <p role="alert" className="form-problem">
          {problems[problem] ?? 'The sign-in failed. Try again.'}
        </p>
      )}
      <button
        ref={focusNow}
        type="button"
        className="primary"
        onClick={() => location.assign(signInUrl({ next, isPopup }))}
      >
        Sign in
      </button>
    </div>
  );
}

/** Shown in a window that was opened over a page, if the browser does not let it close itself. */
export function SignedInCard() {
  return <p role="status">You are signed in. Close this window to go on.</p>;
}

interface HostedSignInAgainProps {
  email: string;
  isOther: boolean;
}

/**
 * Opens identity's page in a window, so that the page stays. If the browser refuses the window, goes there and comes back to the
 * same place; the refused requests are repeated then.
 */
export function HostedSignInAgain({ email, isOther }: HostedSignInAgainProps) {
  const [isOpened, setOpened] = useState(false);
  const leave = () => {
    keepRefused();
    location.assign(signInUrl({ next: currentPath(), email, isOther }));
  };
  const open = () => {
    const url = signInUrl({ isPopup: true, email, isOther });
    if (window.open(url, 'tessera-sign-in', 'popup,width=520,height=760') === null) leave();
    else setOpened(true);
  };
  return (
    <div className="actions">
      <button ref={focusNow} type="button" className="primary" onClick={open}>
        Sign in
      </button>
      {isOpened && (
        <button type="button" onClick={leave}>
          Sign in without a window
        </button>
      )}
    </div>
  );
}
