import type { CreateClient, CreatedClient } from '@tessera/contracts';
import { createIdentity } from './identities.ts';
import { serviceToken, type TestApp } from './test-app.ts';

export const redirectUri = 'https://app.example/callback';

/** Registers a client: by default a confidential one. Its secret must not occur in any later output. */
export async function createClient(
  app: Pick<TestApp, 'http'>,
  overrides: Partial<CreateClient> = {},
): Promise<CreatedClient & { client_secret: string }> {
  const { body } = await app.http
    .post('/internal/clients')
    .set('X-Service-Token', serviceToken)
    .send({ name: 'Wiki', kind: 'confidential', redirect_uris: [redirectUri], ...overrides })
    .expect(201);
  return body;
}

/** Registers a machine for a new identity without a password. */
export async function createMachine(app: Pick<TestApp, 'http'>, overrides: Partial<CreateClient> = {}) {
  const { identity } = await createServiceIdentity(app);
  const client = await createClient(app, {
    name: 'Robot',
    kind: 'machine',
    redirect_uris: [],
    identity_id: identity.id,
    ...overrides,
  });
  return { client, identity };
}

/** Creates an identity that cannot sign in. */
export function createServiceIdentity(app: Pick<TestApp, 'http'>) {
  const sso_id = crypto.randomUUID();
  return createIdentity(app, { password: undefined, sso_provider: 'service', sso_id });
}
