import { randomBytes } from 'node:crypto';
import type { Identity } from '@tessera/contracts';
import { rememberSecret } from '@tessera/testing/leaks';
import type { Test } from 'supertest';
import type { TestApp } from './test-app.ts';

export type NewIdentity = { email: string; password: string } & Partial<
  Pick<
    Identity,
    | 'username'
    | 'display_name'
    | 'sso_provider'
    | 'sso_id'
    | 'is_active'
    | 'is_verified'
    | 'is_staff'
    | 'is_superuser'
  > & { password_is_temporary: boolean }
>;

/** The identity service of the tests: the real service or the fake. */
export interface IdentityProvider {
  url: string;
  create: (identity: NewIdentity) => Promise<Identity>;
  signIn: (email: string, password: string) => Promise<{ access_token: string }>;
  stop: () => Promise<void>;
}

/** A signed-in person; each request carries the person's access token. */
export interface TestPerson extends Identity {
  token: string;
  get: (path: string) => Test;
  head: (path: string) => Test;
  options: (path: string) => Test;
  post: (path: string, body?: object) => Test;
  put: (path: string, body?: object) => Test;
  patch: (path: string, body?: object) => Test;
  delete: (path: string) => Test;
  /** Returns a client of another instance for the same person and token. */
  on: (app: Pick<TestApp, 'http'>) => TestPerson;
}

export const password = rememberSecret('a password of the tests');
export const anEmail = () => `ann-${randomBytes(6).toString('hex')}@example.com`;

/** Creates an identity and signs it in. */
export async function aPerson(
  app: Pick<TestApp, 'http' | 'identity'>,
  overrides: Partial<NewIdentity> = {},
): Promise<TestPerson> {
  const email = anEmail();
  const username = email.slice(0, email.indexOf('@'));
  const identity = await app.identity.create({ email, username, password, ...overrides });
  const { access_token: token } = await app.identity.signIn(identity.email, password);
  return clientOf(app, identity, token);
}

function clientOf(app: Pick<TestApp, 'http'>, identity: Identity, token: string): TestPerson {
  // supertest accepts gzip by default, and the ETag of a compressed issue names the coding.
  const as = (test: Test) => test.auth(token, { type: 'bearer' }).set('Accept-Encoding', 'identity');
  const send = (test: Test, body?: object) => (body === undefined ? as(test) : as(test).send(body));
  return {
    ...identity,
    token,
    get: (path) => as(app.http.get(path)),
    head: (path) => as(app.http.head(path)),
    options: (path) => as(app.http.options(path)),
    post: (path, body) => send(app.http.post(path), body),
    put: (path, body) => send(app.http.put(path), body),
    patch: (path, body) => send(app.http.patch(path), body),
    delete: (path) => as(app.http.delete(path)),
    on: (other) => clientOf(other, identity, token),
  };
}

/** A row of the identity mirror, with the field names of the API. */
export async function mirrorRow(app: Pick<TestApp, 'sql'>, id: string) {
  const rows = await app.sql(
    `SELECT id, username, display_name AS name, email, sso_provider, sso_id, is_active, is_verified, is_staff, is_superuser
       FROM identity_mirror WHERE id = $1`,
    [id],
  );
  return rows[0];
}
