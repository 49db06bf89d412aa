import type { FullUser, User } from '@tessera/contracts';
import type { Actor } from '../authentication/actor.ts';
import type { KnownIdentity } from '../identity-mirror/mirrored-identity.ts';
import { maySeeAll } from './user-access.ts';

/** A person, as far as the actor may see them. */
export function presentUser(person: KnownIdentity, actor: Actor): User | FullUser {
  return maySeeAll(actor, person.id) ? presentFullUser(person) : { id: person.id, username: person.username };
}

export function presentFullUser(person: KnownIdentity): FullUser {
  return {
    id: person.id,
    username: person.username,
    email: person.email,
    sso_provider: person.ssoProvider,
    sso_id: person.ssoId,
    is_active: person.isActive,
    is_verified: person.isVerified,
    is_staff: person.isStaff,
    is_superuser: person.isSuperuser,
  };
}
