import { keepPreviousData, useInfiniteQuery, useQueryClient } from '@tanstack/react-query';
import type { FullUser } from '@tessera/contracts';
import { useState } from 'react';
import { call, readPage } from '../http/api.ts';
import { personName } from '../messages.ts';
import { Avatar } from '../people/avatar.tsx';
import { Dialog } from '../shell/dialog.tsx';
import { Field, Submit, useForm } from '../shell/form.tsx';
import { notify } from '../shell/toasts.tsx';
import { useUser } from '../shell/user.ts';
import { QueryState } from './query-state.tsx';

export function UserSettings() {
  const client = useQueryClient();
  const [search, setSearch] = useState('');
  const [edited, setEdited] = useState<FullUser | 'new'>();
  const users = useInfiniteQuery({
    queryKey: ['users', search.trim()],
    queryFn: ({ pageParam, signal }) => {
      const words = search.trim();
      const query = { limit: 50, cursor: pageParam, ...(words !== '' && { search: words }) };
      return readPage('listUsers', { query, signal });
    },
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next,
    placeholderData: keepPreviousData,
  });
  // Staff get all fields.
  const shown = (users.data?.pages.flatMap(({ items }) => items) ?? []) as FullUser[];
  const close = () => setEdited(undefined);
  const saved = async () => {
    await Promise.all([
      client.invalidateQueries({ queryKey: ['users'] }),
      client.invalidateQueries({ queryKey: ['people'] }),
    ]);
    close();
  };
  return (
    <>
      <div className="actions">
        <input
          type="search"
          aria-label="Search users"
          placeholder="Search users"
          maxLength={150}
          value={search}
          onChange={({ target }) => setSearch(target.value)}
        />
        <button type="button" className="primary" onClick={() => setEdited('new')}>
          New user
        </button>
      </div>
      <QueryState query={users} />
      {users.isSuccess && shown.length === 0 && <p>No user matches.</p>}
      <ul className="entries" aria-label="Users">
        {shown.map((user) => (
          <li key={user.id}>
            <div className="person">
              <Avatar person={user} />
              <div>
                <strong dir="auto">{personName(user)}</strong>
                {user.is_superuser && <span className="badge">Superuser</span>}
                {user.is_staff && <span className="badge">Staff</span>}
                {!user.is_active && <span className="badge">Inactive</span>}
                {!user.is_verified && <span className="badge">Not verified</span>}
                <p className="muted">
                  {user.username}, {user.email}
                </p>
              </div>
            </div>
            <button type="button" aria-label={`Edit ${personName(user)}`} onClick={() => setEdited(user)}>
              Edit
            </button>
          </li>
        ))}
      </ul>
      {users.hasNextPage && (
        <button type="button" disabled={users.isFetching} onClick={() => void users.fetchNextPage()}>
          Show more
        </button>
      )}
      {edited !== undefined && (
        <Dialog title={edited === 'new' ? 'New user' : `Edit ${personName(edited)}`} onClose={close}>
          <UserForm user={edited === 'new' ? undefined : edited} onSaved={saved} />
        </Dialog>
      )}
    </>
  );
}

const flags = [
  ['is_active', 'Active: may sign in'],
  ['is_verified', 'Verified: the e-mail address is checked'],
  ['is_staff', 'Staff'],
  ['is_superuser', 'Superuser'],
] as const;

function UserForm({ user, onSaved }: { user: FullUser | undefined; onSaved: () => Promise<void> }) {
  const me = useUser();
  const isEditable = (flag: string) => me.is_superuser || (flag !== 'is_staff' && flag !== 'is_superuser');
  const form = useForm(async (values) => {
    const { name = '', password = '', email = '', username = '' } = values;
    const chosen = Object.fromEntries(
      flags.filter(([flag]) => isEditable(flag)).map(([flag]) => [flag, values[flag] === 'on']),
    );
    const body = {
      email,
      username,
      ...chosen,
      name: name === '' ? null : name,
      ...(password !== '' && { password, password_is_temporary: true }),
    };
    // Fields that did not change are not sent: they may belong to superusers.
    const before: Partial<FullUser> = user ?? { is_staff: false, is_superuser: false };
    const changed = Object.entries(body).filter(([key, value]) => value !== Reflect.get(before, key));
    const sent: Partial<typeof body> = Object.fromEntries(changed);
    if (user === undefined) await call('createUser', { body: { ...sent, email } });
    else if (changed.length > 0) await call('patchUser', { params: { id: user.id }, body: sent });
    notify(user === undefined ? `Created ${email}` : `Saved ${email}`);
    await onSaved();
  });
  return (
    <form ref={form.ref} onSubmit={form.onSubmit}>
      <Field state={form} label="E-mail" name="email" inputMode="email" required defaultValue={user?.email} />
      <Field
        state={form}
        label="User name"
        name="username"
        maxLength={150}
        required
        defaultValue={user?.username}
        autoComplete="off"
      />
      <Field state={form} label="Display name" name="name" maxLength={150} defaultValue={user?.name ?? ''} />
      <Field
        state={form}
        label={user === undefined ? 'Temporary password' : 'New temporary password'}
        name="password"
        type="password"
        required={user === undefined}
        autoComplete="new-password"
      />
      <p className="muted">Valid for 24 hours. The first sign-in asks for another password.</p>
      {flags.map(([flag, name]) => (
        <label key={flag} className="check">
          <input
            type="checkbox"
            name={flag}
            defaultChecked={user?.[flag] ?? flag === 'is_active'}
            disabled={!isEditable(flag)}
          />
          {name}
        </label>
      ))}
      <Submit state={form} name={user === undefined ? 'Create' : 'Save'} done="Saved" />
    </form>
  );
}
