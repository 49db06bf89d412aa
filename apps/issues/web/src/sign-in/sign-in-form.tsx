import '../styles/sign-in.css';
import { type FormEvent, useId, useState } from 'react';
import { type SessionState, startSession } from '../http/api.ts';
import { HttpError } from '../http/http.ts';
import { focusFirst, focusNow } from '../shell/dialog.tsx';

interface SignInFormProps {
  email?: string | undefined;
  onSignedIn: (session: SessionState) => void;
}

export function SignInForm({ email = '', onSignedIn }: SignInFormProps) {
  const [problem, setProblem] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const [isTemporary, setTemporary] = useState(false);
  const id = useId();

  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = event.currentTarget;
    const values = new FormData(form);
    setBusy(true);
    setProblem(undefined);
    try {
      const next = values.get('new_password');
      onSignedIn(
        await startSession(
          String(values.get('email')).trim(),
          String(values.get('password')),
          next === null ? undefined : String(next),
        ),
      );
    } catch (error) {
      if (error instanceof HttpError && error.code === 'password_change_required') {
        // The field takes the focus when it appears.
        setTemporary(true);
        return;
      }
      setProblem(describe(error));
      const isNew = error instanceof HttpError && error.status === 422;
      form.querySelector<HTMLInputElement>(isNew ? '[name=new_password]' : '[name=password]')?.select();
    } finally {
      setBusy(false);
    }
  };

  return (
    <form className="sign-in-form" onSubmit={(event) => void submit(event)}>
      <label htmlFor={`${id}-email`}>E-mail</label>
      <input
        ref={email === '' ? focusFirst : null}
        id={`${id}-email`}
        name="email"
        // Browsers refuse a local part beyond ASCII in an input of type email.
        inputMode="email"
        autoCapitalize="none"
        autoComplete="username"
        required
        defaultValue={email}
        aria-describedby={`${id}-problem`}
      />
      <label htmlFor={`${id}-password`}>Password</label>
      <input
        ref={email === '' ? null : focusFirst}
        id={`${id}-password`}
        name="password"
        type="password"
        autoComplete="current-password"
        required
        aria-describedby={`${id}-problem`}
      />
      {isTemporary && (
        <>
          <p id={`${id}-temporary`} role="status">
            This password is temporary. Choose your own.
          </p>
          <label htmlFor={`${id}-new`}>New password</label>
          <input
            ref={focusNow}
            id={`${id}-new`}
            name="new_password"
            type="password"
            autoComplete="new-password"
            required
            aria-describedby={`${id}-temporary ${id}-problem`}
          />
        </>
      )}
      <p id={`${id}-problem`} role="alert" className="form-problem">
        {problem}
      </p>
      <button type="submit" className="primary" disabled={isBusy}>
        {isBusy ? 'Signing in…' : 'Sign in'}
      </button>
    </form>
  );
}

function describe(error: unknown): string {
  if (!(error instanceof HttpError)) return 'Sign-in failed. Try again.';
  if (error.code === 'password_expired') return error.message;
  if (error.status === 400 || error.status === 401) return 'The e-mail address or the password is wrong.';
  if (error.status === 429) return `Too many attempts. Try again in ${inMinutes(error.retryAfterSeconds)}.`;
  return error.message.replace(/^new_password/, 'The new password');
}

function inMinutes(seconds: number): string {
  const minutes = Math.ceil(seconds / 60);
  return minutes === 1 ? 'a minute' : `${minutes} minutes`;
}
