import { useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { areDraftsKept, keepDrafts } from '../drafts/draft-store.ts';
import { call, startSession } from '../http/api.ts';
import { sessionQuery } from '../http/queries.ts';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { ShortcutSwitch } from '../shell/shortcut-switch.tsx';
import { chooseTheme, chosenTheme, themes } from '../shell/theme.ts';
import { useUser } from '../shell/user.ts';
import { currentPath, isHosted, signInUrl } from '../sign-in/hosted-sign-in.ts';
import { signedInAgain } from '../sign-in/session-gate.ts';

export function AccountSettings() {
  return (
    <>
      <Profile />
      <Password />
      <Appearance />
      <Drafts />
    </>
  );
}

function Profile() {
  const user = useUser();
  const client = useQueryClient();
  const form = useForm(async ({ name = '' }) => {
    const changed = await call('updateMe', { body: { name: name === '' ? null : name } });
    client.setQueryData(sessionQuery.queryKey, (session) => session && { ...session, user: changed });
  });
  return (
    <section aria-labelledby="profile">
      <h2 id="profile">Profile</h2>
      <p className="muted">
        {user.username}, {user.email}. Staff change these.
      </p>
      <form ref={form.ref} onSubmit={form.onSubmit}>
        <Field
          state={form}
          label="Display name"
          name="name"
          defaultValue={user.name ?? ''}
          maxLength={150}
          autoComplete="name"
        />
        <Submit state={form} name="Save" done="Saved" />
      </form>
    </section>
  );
}

function Password() {
  const { email } = useUser();
  const client = useQueryClient();
  const form = useForm(async ({ current_password = '', new_password = '' }, element) => {
    await call('changeMyPassword', { body: { current_password, new_password } });
    element.reset();
    // The sign-in at identity has ended, too.
    if (isHosted()) return location.assign(signInUrl({ next: currentPath(), email }));
    // All sessions have ended; this browser gets a new one.
    client.setQueryData(sessionQuery.queryKey, await startSession(email, new_password));
    // The stream of events may have told of the end first.
    signedInAgain();
    void client.invalidateQueries({ queryKey: ['sessions'] });
  });
  return (
    <section aria-labelledby="password">
      <h2 id="password">Password</h2>
      <p className="muted">
        {isHosted()
          ? 'A new password ends all sessions. Sign in with it again.'
          : 'A new password ends all sessions except that of this browser.'}
      </p>
      <form ref={form.ref} onSubmit={form.onSubmit}>
        <input type="hidden" name="username" autoComplete="username" value={email} readOnly />
        <Field
          state={form}
          label="Current password"
          name="current_password"
          type="password"
          autoComplete="current-password"
          required
        />
        <Field
          state={form}
          label="New password"
          name="new_password"
          type="password"
          autoComplete="new-password"
          required
        />
        <Submit state={form} name="Change the password" done="Changed" />
      </form>
    </section>
  );
}

const themeNames = { system: 'As the system', light: 'Light', dark: 'Dark' };

function Appearance() {
  const [theme, setTheme] = useState(chosenTheme);
  return (
    <section aria-labelledby="appearance">
      <h2 id="appearance">Appearance and keyboard</h2>
      <fieldset className="choices-row">
        <legend>Theme</legend>
        {themes.map((one) => (
          <label key={one} className="check">
            <input
              type="radio"
              name="theme"
              checked={theme === one}
              onChange={() => {
                chooseTheme(one);
                setTheme(one);
              }}
            />
            {themeNames[one]}
          </label>
        ))}
      </fieldset>
      <ShortcutSwitch />
    </section>
  );
}

function Drafts() {
  const [isOn, setOn] = useState(areDraftsKept);
  return (
    <section aria-labelledby="drafts">
      <h2 id="drafts">Drafts</h2>
      <p className="muted">
        What you type and do not send is deleted from this browser when you sign out. Keep it only on a
        computer that is yours.
      </p>
      <label className="check">
        <input
          type="checkbox"
          checked={isOn}
          onChange={({ target }) => {
            keepDrafts(target.checked);
            setOn(target.checked);
          }}
        />
        Keep drafts on this computer
      </label>
    </section>
  );
}
