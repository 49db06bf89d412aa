import type { FullUser, UpdateIdentity, UpdateUser, User } from '@tessera/contracts';
import type { KnownIdentity } from '../identity-mirror/mirrored-identity.ts';
import type { Actor } from '../issue-core/actor.ts';
import { maySeeAll } from './user-access.ts';

/** Returns the fields of a person that the actor may see. */
export function presentUser(person: KnownIdentity, actor: Actor): User | FullUser {
  if (maySeeAll(actor, person.id)) return presentFullUser(person);
  const { id, username, displayName } = person;
  return displayName === null ? { id, username } : { id, username, name: displayName };
}

export function presentFullUser(person: KnownIdentity): FullUser {
  return {
    id: person.id,
    username: person.username,
    name: person.displayName,
    email: person.email,
    sso_provider: person.ssoProvider,
    sso_id: person.ssoId,
    is_active: person.isActive,
    is_verified: person.isVerified,
    is_staff: person.isStaff,
    is_superuser: person.isSuperuser,
  };
}

/** Converts a change to the input of identity. Removes the read-only members, which are accepted and ignored. */
export function readUserBody<Body extends UpdateUser>(body: Body) {
  const {
    id: _id,
    deleted_at: _deletedAt,
    created_at: _createdAt,
    updated_at: _updatedAt,
    name,
    ...writable
  } = body;
  return (name === undefined ? writable : { ...writable, display_name: name }) satisfies UpdateIdentity;
}
