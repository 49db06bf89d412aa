import type { PersonInput } from '@tessera/contracts';

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

export function toPersonReference(person: PersonInput): PersonReference {
  return 'sso_provider' in person ? { ssoProvider: person.sso_provider, ssoId: person.sso_id } : person;
}
