import { keepPreviousData, useQuery } from '@tanstack/react-query';
import type { User } from '@tessera/contracts';
import { type ReactNode, useState } from 'react';
import { findPeople } from '../http/api.ts';
import { personName } from '../messages.ts';
import { useUser } from '../shell/user.ts';
import { Avatar } from './avatar.tsx';
import { type Option, Picker } from './picker.tsx';

interface PersonPickerProps {
  label: string;
  summary: ReactNode;
  /** Options before the people, such as "No one". */
  first: readonly Option[];
  selected: readonly string[];
  isMultiple?: boolean;
  onChange: (selected: string[], people: readonly User[]) => void;
  className?: string;
}

/** Chooses people by name among all people of the service. The caller comes first. */
export function PersonPicker({ first, onChange, ...picker }: PersonPickerProps) {
  const me = useUser();
  const [search, setSearch] = useState('');
  const [isUsed, setUsed] = useState(false);
  const { data = [] } = useQuery({
    queryKey: ['people', search],
    queryFn: ({ signal }) => findPeople(search, signal),
    enabled: isUsed,
    staleTime: 60_000,
    placeholderData: keepPreviousData,
  });
  const words = search.trim().toLowerCase();
  const own: User = { id: me.id, username: me.username, ...(me.name !== null && { name: me.name }) };
  const people = words === '' ? [own, ...data.filter(({ id }) => id !== me.id)] : data;
  const options: Option[] = [
    ...first.filter(({ name }) => name.toLowerCase().includes(words)),
    ...people.map((person) => ({
      value: person.id,
      name: personName(person),
      content: (
        <span className="person">
          <Avatar person={person} />
          <span className="person-name">{personName(person)}</span>
          {person.name !== undefined && <span className="muted">{person.username}</span>}
        </span>
      ),
    })),
  ];
  return (
    <Picker
      {...picker}
      options={options}
      onChange={(selected) => onChange(selected, people)}
      onSearch={setSearch}
      onOpen={() => setUsed(true)}
    />
  );
}
