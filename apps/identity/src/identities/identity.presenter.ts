import type { CreateIdentity, UpdateIdentity, Identity as WireIdentity } from '@tessera/contracts';
import type { Identity, IdentityChanges, NewIdentity } from './identity.ts';

/** Lists every field explicitly, so that a new column is never exposed by accident. */
export function presentIdentity(identity: Identity): WireIdentity {
  return {
    id: identity.id,
    email: identity.email,
    username: identity.username,
    display_name: identity.displayName,
    sso_provider: identity.ssoProvider,
    sso_id: identity.ssoId,
    is_active: identity.isActive,
    is_verified: identity.isVerified,
    is_staff: identity.isStaff,
    is_superuser: identity.isSuperuser,
    deleted_at: identity.deletedAt?.toISOString() ?? null,
    created_at: identity.createdAt.toISOString(),
    updated_at: identity.updatedAt.toISOString(),
  };
}

export function readNewIdentity(body: CreateIdentity): NewIdentity {
  return { ...readIdentityChanges(body), email: body.email };
}

/** Ignores the read-only fields of a representation that a client sends back. */
export function readIdentityChanges(body: UpdateIdentity): IdentityChanges {
  return {
    email: body.email,
    username: body.username,
    displayName: body.display_name,
    password: body.password,
    isPasswordTemporary: body.password === undefined ? undefined : body.password_is_temporary,
    sso: readSso(body),
    isActive: body.is_active,
    isVerified: body.is_verified,
    isStaff: body.is_staff,
    isSuperuser: body.is_superuser,
  };
}

function readSso({ sso_provider: provider, sso_id: id }: UpdateIdentity): IdentityChanges['sso'] {
  if (typeof provider === 'string' && typeof id === 'string') return { provider, id };
  return provider === null ? null : undefined;
}
