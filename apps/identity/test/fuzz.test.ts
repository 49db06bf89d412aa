import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { Identity, TokenResponse } from '@tessera/contracts';
import { readApiDocument } from '@tessera/service-kit';
import { ApiSurface, digestTables, Fuzzer, fuzzSettings } from '@tessera/testing/fuzz';
import { createClient, createServiceIdentity } from './support/clients.ts';
import { createIdentity, signIn } from './support/identities.ts';
import { unknownId } from './support/internal-client.ts';
import { serviceToken, startTestApp, type TestApp } from './support/test-app.ts';

const settings = fuzzSettings(process.env);
const document = readApiDocument('identity');
const operations = new ApiSurface(document).operations.map(({ operationId }) => operationId);

// Limits that no run reaches, so that no request is rejected with 429.
const noLimits = {
  HOSTED_SIGN_IN: 'on',
  SIGN_IN_PAIR_LIMIT: '1000000',
  SIGN_IN_EMAIL_LIMIT: '1000000',
  SIGN_IN_IP_LIMIT: '1000000',
  RATE_LIMIT_TOKENS_PER_MINUTE: '0',
  RATE_LIMIT_READS_PER_MINUTE: '0',
};

describe('every response matches the API document, and a rejected request writes nothing', () => {
  let app: TestApp;
  let fuzzer: Fuzzer;
  let accessToken: string;
  let refreshToken: string;
  /** One identity is read and changed, one is looked up, the others are deleted. */
  let target: Identity;
  let lookedUp: Identity;
  const disposable: string[] = [];
  const disposableClients: string[] = [];

  beforeAll(async () => {
    app = await startTestApp(noLimits);
    const { identity, password } = await createIdentity(app);
    ({ identity: target } = await createIdentity(app));
    ({ identity: lookedUp } = await createIdentity(app, { sso_provider: 'google', sso_id: 'sso-1' }));
    for (let count = 0; count < 20; count += 1) disposable.push((await createIdentity(app)).identity.id);
    ({ access_token: accessToken, refresh_token: refreshToken } = await signIn(
      app,
      identity.email,
      password,
    ));
    for (let count = 0; count < 20; count += 1) disposableClients.push((await createClient(app)).client_id);
    const asciiPassword = 'a password that is asked for';
    const { identity: signer } = await createIdentity(app, { password: asciiPassword });
    const { identity: changer } = await createIdentity(app, { password: asciiPassword });
    // Sessions to revoke, of an identity that signs in for this purpose only.
    const { identity: guest, password: guestPassword } = await createIdentity(app);
    for (let count = 0; count < 20; count += 1) await signIn(app, guest.email, guestPassword);
    const sessions = await app.sql<{ id: string }>('SELECT id FROM token_families WHERE identity_id = $1', [
      guest.id,
    ]);
    const { identity: robot } = await createServiceIdentity(app);
    const client = await createClient(app);
    fuzzer = new Fuzzer({
      document,
      listener: app.listener,
      logger: app.dependencies.logger,
      credentials: {
        serviceToken: [['X-Service-Token', '{{serviceToken}}']],
        accessToken: [['Authorization', 'Bearer {{accessToken}}']],
      },
      known: {
        serviceToken: () => serviceToken,
        accessToken: () => accessToken,
        refresh_token: () => refreshToken,
        token: () => refreshToken,
        grant_type: () => 'password',
        'signIn.email': () => signer.email,
        'signIn.username': () => signer.email,
        'signIn.password': () => asciiPassword,
        client_id: () => client.client_id,
        'disableClient.client_id': () => disposableClients.shift() ?? unknownId,
        'createClient.kind': () => 'machine',
        'createClient.name': () => 'Robot',
        'createClient.identity_id': () => robot.id,
        id: () => target.id,
        'findIdentityByEmail.email': () => lookedUp.email,
        'deleteIdentity.id': () => disposable.shift() ?? unknownId,
        'revokeSession.id': () => guest.id,
        'revokeSession.session_id': () => sessions.shift()?.id ?? unknownId,
        'changeIdentityPassword.id': () => changer.id,
        current_password: () => asciiPassword,
        new_password: () => asciiPassword,
        'createIdentity.password': () => 'a password of its own',
        'findIdentityBySso.provider': () => 'google',
        'findIdentityBySso.sso_id': () => 'sso-1',
      },
      state: () => digestTables(app.sql, ['identities', 'token_families', 'refresh_tokens', 'oauth_clients']),
      // The reuse of a refresh token marks its family as suspect or ends it.
      writtenByRefusals: { refreshTokens: ['token_families', 'refresh_tokens'] },
      learn: (operationId, body) => {
        if (['signIn', 'refreshTokens'].includes(operationId)) {
          refreshToken = (body as TokenResponse).refresh_token;
        }
      },
    });
    await fuzzer.start();
  });
  afterAll(async () => {
    await fuzzer.stop();
    await app.close();
  });

  it.each(operations)('%s', async (operationId) => fuzzer.run(operationId, settings), 600_000);

  it('every operation has both succeeded and rejected requests', () => {
    expect(fuzzer.findUntried()).toEqual([]);
  });
});
