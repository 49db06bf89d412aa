import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { User } from '@tessera/contracts';
import { useState } from 'react';
import { findPeople } from '../http/api.ts';
import { personName } from '../messages.ts';
import { useSettled } from '../shell/use-settled.ts';
import { useUser } from '../shell/user.ts';
import { Avatar } from './avatar.tsx';
import type { Option } from './choices.tsx';
import { Picker, type PickerProps } from './picker.tsx';

interface PeopleOptions {
  options: Option[];
  people: User[];
  isPending: boolean;
  onSearch: (text: string) => void;
}

/**
 * The people of the service whose names match a search, as options. The caller comes first.
 * @param readersOf the key of an issue: only people who may read it
 */
export function usePeople(
  first: readonly Option[],
  isUsed: boolean,
  readersOf?: string | undefined,
): PeopleOptions {
  const me = useUser();
  const [search, setSearch] = useState('');
  const [settled] = useSettled(search);
  const { data = [], isPlaceholderData: isEarlier } = useQuery({
    queryKey: ['people', settled, readersOf],
    queryFn: ({ signal }) => findPeople(settled, signal, readersOf),
    enabled: isUsed,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const isPlaceholderData = isEarlier || settled !== search;
  const words = search.trim().toLowerCase();
  const own: User = { id: me.id, username: me.username, ...(me.name !== null && { name: me.name }) };
  const all = words === '' || isPlaceholderData ? [own, ...data.filter(({ id }) => id !== me.id)] : data;
  // Until the service has answered, Enter chooses among the known people.
  const people = isPlaceholderData
    ? all.filter(({ name, username }) => `${name} ${username}`.toLowerCase().includes(words))
    : all;
  const options = people.map((person) => ({
    value: person.id,
    name: personName(person),
    content: (
      <span className="person">
        <Avatar person={person} />
        <span className="person-name" dir="auto">
          {personName(person)}
        </span>
        {person.name !== undefined && <span className="muted">{person.username}</span>}
      </span>
    ),
  }));
  return {
    options: [...first.filter(({ name }) => name.toLowerCase().includes(words)), ...options],
    people,
    isPending: isPlaceholderData,
    onSearch: setSearch,
  };
}

interface PersonPickerProps extends Omit<PickerProps, 'options' | 'onChange' | 'onOpen' | 'onSearch'> {
  /** Options before the people, such as "No one". */
  first: readonly Option[];
  onChange: (selected: string[], people: readonly User[]) => void;
  /** The key of an issue: only people who may read it. */
  readersOf?: string | undefined;
}

/** Chooses people by name among all people of the service. */
export function PersonPicker({ first, onChange, readersOf, ...picker }: PersonPickerProps) {
  const [isUsed, setUsed] = useState(false);
  const { options, people, isPending, onSearch } = usePeople(first, isUsed, readersOf);
  return (
    <Picker
      {...picker}
      options={options}
      onChange={(selected) => onChange(selected, people)}
      isPending={isPending}
      onSearch={onSearch}
      onOpen={() => setUsed(true)}
    />
  );
}
