import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { type Configuration, Provider } from 'oidc-provider';
import { announce, listen, readOptions } from '../servers/served-process.ts';
import { createGrants } from './oidc-grants.ts';
import { openMemoryStorage } from './oidc-memory.storage.ts';
import { openPostgresStorage } from './oidc-postgres.storage.ts';
import type { OidcAccount, OidcStorage } from './oidc-storage.ts';
import { type OidcReady, oidcOptionsSchema } from './peer-messages.ts';

// oidc-provider as a deployment has it: RS256 over 2048 bits, refresh tokens that rotate. Its access tokens are opaque:
// that is its default, and the only kind that its /me accepts. A refresh therefore signs once, the id_token.
const clientId = 'bench';
const clientSecret = randomBytes(32).toString('base64url');

const options = readOptions(oidcOptionsSchema);
const storage =
  options.storage === 'postgres' ? await openPostgresStorage(options.databaseUrl) : openMemoryStorage();
const accounts = Array.from(
  { length: options.grants },
  (_, index): OidcAccount => ({
    id: `account-${index}`,
    email: `account-${index}@example.org`,
    name: `Account ${index}`,
  }),
);
await storage.addAccounts(accounts);

const server = createServer();
const url = await listen(server);
const provider = new Provider(url, configure(storage));
server.on('request', provider.callback());
const client = await provider.Client.find(clientId);
if (client === undefined) throw new Error('The client is not there.');
const grants = await createGrants(
  provider,
  client,
  accounts.map(({ id }) => id),
);

const ready: OidcReady = {
  url,
  refreshPath: provider.pathFor('token'),
  userinfoPath: provider.pathFor('userinfo'),
  jwksPath: provider.pathFor('jwks'),
  discoveryPath: '/.well-known/openid-configuration',
  clientId,
  clientSecret,
  refreshTokens: grants.map(({ refreshToken }) => refreshToken),
  accessTokens: grants.map(({ accessToken }) => accessToken),
};
announce(server, ready, storage.close);

function configure({ adapter, findAccount }: OidcStorage): Configuration {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return {
    adapter,
    clients: [
      {
        client_id: clientId,
        client_secret: clientSecret,
        grant_types: ['authorization_code', 'refresh_token'],
        redirect_uris: ['https://client.example/callback'],
        token_endpoint_auth_method: 'client_secret_basic',
        id_token_signed_response_alg: 'RS256',
      },
    ],
    jwks: { keys: [{ ...privateKey.export({ format: 'jwk' }), alg: 'RS256', use: 'sig', kid: 'bench' }] },
    cookies: { keys: [randomBytes(32).toString('base64url')] },
    claims: { openid: ['sub'], email: ['email', 'email_verified'], profile: ['name'] },
    features: { devInteractions: { enabled: false } },
    findAccount: async (_ctx, id) => {
      const account = await findAccount(id);
      if (account === undefined) return undefined;
      const { email, name } = account;
      return { accountId: id, claims: () => ({ sub: id, email, email_verified: true, name }) };
    },
    interactions: { url: (_ctx, { uid }) => `/interaction/${uid}` },
    rotateRefreshToken: true,
    ttl: { AccessToken: 3600, IdToken: 3600, RefreshToken: 14 * 86_400, Grant: 14 * 86_400 },
  };
}
