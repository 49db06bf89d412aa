import { randomBytes } from 'node:crypto';
import type { CreateIdentity, Identity, TokenResponse } from '@tessera/contracts';
import { rememberSecret } from '@tessera/testing/leaks';
import { serviceToken, type TestApp } from './test-app.ts';

/** Returns a new password and registers it for the leak scan. */
export function aPassword(): string {
  return rememberSecret(`pw ${randomBytes(9).toString('hex')} Ü!`);
}

export function anEmail(): string {
  return `ann-${randomBytes(6).toString('hex')}@example.com`;
}

/** Returns the body of a create request with a new e-mail and password. */
export function anIdentity(overrides: Partial<CreateIdentity> = {}): CreateIdentity {
  return { email: anEmail(), password: aPassword(), ...overrides };
}

export async function createIdentity(
  app: Pick<TestApp, 'http'>,
  overrides: Partial<CreateIdentity> = {},
): Promise<{ identity: Identity; password: string }> {
  const body = anIdentity(overrides);
  const response = await app.http
    .post('/internal/identities')
    .set('X-Service-Token', serviceToken)
    .send(body)
    .expect(201);
  return { identity: response.body, password: body.password ?? '' };
}

export async function updateIdentity(
  app: Pick<TestApp, 'http'>,
  id: string,
  changes: object,
): Promise<Identity> {
  const response = await app.http
    .put(`/internal/identities/${id}`)
    .set('X-Service-Token', serviceToken)
    .send(changes)
    .expect(200);
  return response.body;
}

export async function signIn(
  app: Pick<TestApp, 'http'>,
  email: string,
  password: string,
): Promise<TokenResponse> {
  const response = await app.http
    .post('/token')
    .send({ grant_type: 'password', email, password })
    .expect(200);
  return response.body;
}

/** Creates an identity with a live session. */
export async function signedIn(app: Pick<TestApp, 'http'>, overrides: Partial<CreateIdentity> = {}) {
  const { identity, password } = await createIdentity(app, overrides);
  return { identity, password, tokens: await signIn(app, identity.email, password) };
}
