import { canonicalEmail, type Person, type PersonInput } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { Actor } from './actor.ts';

/** Identifies a person to look up. */
export type PersonReference = { id: string } | { email: string } | { ssoProvider: string; ssoId: string };

/** Looks up people in the mirror or at the identity service. */
export interface PersonResolver {
  /**
   * Returns an active identity. Throws a 422 problem for `field` if there is none, 503 if the identity service is
   * unavailable, and 502 if it rejects our credentials.
   */
  resolveForAssignment(reference: PersonReference, field: string): Promise<{ id: string; username: string }>;
}

/** The problem that a person to be assigned may not read the issue. */
export function cannotRead(field: string): ProblemError {
  return new ProblemError({
    status: 422,
    code: 'cannot_read',
    detail: 'The person may not read the issue.',
    errors: [{ field, message: 'must be a person who may read the issue' }],
  });
}

/** Whether the reference refers to the actor. */
export function isSelf(actor: Actor, person: PersonReference): boolean {
  if ('id' in person) return person.id === actor.id;
  return 'email' in person && canonicalEmail(person.email) === canonicalEmail(actor.email);
}

/**
 * Throws a 422 problem if an actor other than staff refers to another person by e-mail. The error does not depend on
 * whether an account exists, because no lookup happens.
 */
export function assertMayName(actor: Actor, person: PersonReference, field: string): void {
  if (!('email' in person) || actor.isStaff || actor.isSuperuser || isSelf(actor, person)) return;
  throw new ProblemError({
    status: 422,
    code: 'unknown_identity',
    detail: 'Unknown identity.',
    errors: [{ field, message: 'must be an id: only staff may name other people by e-mail' }],
  });
}

export function toPersonReference(person: PersonInput): PersonReference {
  return 'sso_provider' in person ? { ssoProvider: person.sso_provider, ssoId: person.sso_id } : person;
}

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
