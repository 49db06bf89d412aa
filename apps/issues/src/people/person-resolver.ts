import type { PersonInput } from '@tessera/contracts';

/** How somebody is named who is to be looked up. */
export type PersonReference = { id: string } | { email: string } | { ssoProvider: string; ssoId: string };

/** Finds who is meant, here or by asking the identity service. */
export interface PersonResolver {
  /**
   * Answers an active identity. Throws a 422 problem that names `field` where there is none, 503 where the identity
   * service cannot be asked, 502 where it refuses us.
   */
  resolveForAssignment(reference: PersonReference, field: string): Promise<{ id: string; username: string }>;
}

export function toPersonReference(person: PersonInput): PersonReference {
  return 'sso_provider' in person ? { ssoProvider: person.sso_provider, ssoId: person.sso_id } : person;
}
