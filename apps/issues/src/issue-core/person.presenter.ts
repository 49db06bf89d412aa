import type { Person } from '@tessera/contracts';

/** A person with the names of the mirror; null if the mirror does not know the person. */
export interface NamedPerson {
  id: string;
  names: string | null;
}

/**
 * Returns the displayed fields of a person; null if `id` is null. `names` are those of the mirror: the username, and
 * after a line feed the display name.
 */
export function presentPerson(id: string, names: string | null): Person;
export function presentPerson(id: string | null, names: string | null): Person | null;
export function presentPerson(id: string | null, names: string | null): Person | null {
  if (id === null) return null;
  const [username = null, name] = names?.split('\n') ?? [];
  return name === undefined ? { id, username } : { id, username, name };
}
