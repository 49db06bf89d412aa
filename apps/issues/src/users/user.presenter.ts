import type { FullUser, User } from '@tessera/contracts';
import type { Actor } from '../authentication/actor.ts';
import type { KnownIdentity } from '../identity-mirror/mirrored-identity.ts';
import { maySeeAll } from './user-access.ts';

/** The fields of a person that the actor may see. */
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

/** Removes the read-only members, which are accepted and ignored. The rest is sent to identity. */
export function readUserBody<Body extends ReadOnlyMembers>(body: Body): Omit<Body, keyof ReadOnlyMembers> {
  const {
    id: _id,
    deleted_at: _deletedAt,
    created_at: _createdAt,
    updated_at: _updatedAt,
    ...writable
  } = body;
  return writable;
}

interface ReadOnlyMembers {
  id?: unknown;
  deleted_at?: unknown;
  created_at?: unknown;
  updated_at?: unknown;
}
