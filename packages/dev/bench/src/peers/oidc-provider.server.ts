import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { type Client, type Configuration, Provider } from 'oidc-provider';
import { z } from 'zod';
import { announce, listen, readOptions } from '../servers/served-process.ts';
import {
  type OidcAccount,
  type OidcStorage,
  openMemoryStorage,
  openPostgresStorage,
} from './oidc-storage.ts';

export interface OidcOptions {
  /** The URL of an empty database; without it, all data is kept in memory. */
  databaseUrl?: string;
  /** The number of accounts, each with one grant. */
  grants: number;
  /** A refresh signs the ID token; with `jwt` the access token, too. */
  accessTokens: 'opaque' | 'jwt';
}

const optionsSchema: z.ZodType<OidcOptions> = z.strictObject({
  databaseUrl: z.string().exactOptional(),
  grants: z.int().positive(),
  accessTokens: z.enum(['opaque', 'jwt']),
});

/** The ready message, with a refresh and an access token of each grant, in the same order. */
export interface OidcReady {
  url: string;
  refreshPath: string;
  userinfoPath: string;
  jwksPath: string;
  discoveryPath: string;
  clientId: string;
  clientSecret: string;
  refreshTokens: string[];
  accessTokens: string[];
}

const clientId = 'bench';
const clientSecret = randomBytes(32).toString('base64url');
const openIdScope = 'openid email profile offline_access';
// The API that JWT access tokens are for. oidc-provider makes an access token a JWT only for a resource server.
const resource = 'https://api.example';
const resourceScope = 'api';

const options = readOptions(optionsSchema);
const isJwt = options.accessTokens === 'jwt';
const storage =
  options.databaseUrl === undefined ? openMemoryStorage() : await openPostgresStorage(options.databaseUrl);
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
if (client === undefined) throw new Error('the client is missing');
const ready: OidcReady = {
  url,
  refreshPath: provider.pathFor('token'),
  userinfoPath: provider.pathFor('userinfo'),
  jwksPath: provider.pathFor('jwks'),
  discoveryPath: '/.well-known/openid-configuration',
  clientId,
  clientSecret,
  refreshTokens: [],
  accessTokens: [],
};
for (const { id } of accounts) {
  const { refreshToken, accessToken } = await createGrant(client, id);
  ready.refreshTokens.push(refreshToken);
  ready.accessTokens.push(accessToken);
}
announce(server, ready, storage.close);

/**
 * Creates the grant and the tokens that result from a completed authorization code flow, with the provider's models.
 */
async function createGrant(client: Client, accountId: string) {
  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(openIdScope);
  if (isJwt) grant.addResourceScope(resource, resourceScope);
  const grantId = await grant.save();
  const common = { accountId, client, grantId, gty: 'authorization_code' };
  const refreshToken = new provider.RefreshToken({
    ...common,
    authTime: Math.floor(Date.now() / 1000),
    ...(isJwt ? { scope: `${openIdScope} ${resourceScope}`, resource } : { scope: openIdScope }),
  });
  const accessToken = new provider.AccessToken({ ...common, scope: openIdScope });
  return { refreshToken: await refreshToken.save(), accessToken: await accessToken.save() };
}

/** RS256 over 2048 bits and rotating refresh tokens; otherwise the defaults, opaque access tokens among them. */
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
    features: {
      devInteractions: { enabled: false },
      resourceIndicators: {
        enabled: isJwt,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({
          scope: resourceScope,
          accessTokenFormat: 'jwt',
          jwt: { sign: { alg: 'RS256' } },
        }),
      },
    },
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
