import { randomBytes } from 'node:crypto';
import type { CreateIdentity } from '@tessera/contracts';
import { rememberSecret } from '@tessera/testing/leaks';
import type { FullApp } from './full-app.ts';
import type { IdentityService } from './identity-service.ts';

export const password = rememberSecret('a password of the tests');
export const anEmail = () => `ann-${randomBytes(6).toString('hex')}@example.com`;

type Method = 'get' | 'post' | 'put' | 'patch' | 'delete';

/** An identity with a session; `as` sends with its token, also to another instance. */
export async function signedIn(
  app: Pick<FullApp, 'http'>,
  identity: IdentityService,
  overrides: Partial<CreateIdentity> = {},
) {
  const created = await identity.create({ email: anEmail(), password, ...overrides });
  const tokens = await identity.signIn(created.email, password);
  return {
    ...created,
    tokens,
    as: (method: Method, path: string, { http } = app) =>
      http[method](`/api/v1${path}`).set('Authorization', `Bearer ${tokens.access_token}`),
  };
}

/** The fields of the mirror, in wire form. */
export async function mirrorRow(app: Pick<FullApp, 'sql'>, id: string) {
  const rows = await app.sql(
    `SELECT id, username, email, sso_provider, sso_id, is_active, is_verified, is_staff, is_superuser
       FROM identity_mirror WHERE id = $1`,
    [id],
  );
  return rows[0];
}
