import type { Person } from '@tessera/contracts';

/** A person as shown beside their work; null where there is none. */
export function presentPerson(id: string, username: string | null): Person;
export function presentPerson(id: string | null, username: string | null): Person | null;
export function presentPerson(id: string | null, username: string | null): Person | null {
  return id === null ? null : { id, username };
}
