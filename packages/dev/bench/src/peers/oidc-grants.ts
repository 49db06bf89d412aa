import type { Client, Provider } from 'oidc-provider';

const scope = 'openid email profile offline_access';

/** A refresh token and an access token of one grant. */
export interface GrantTokens {
  refreshToken: string;
  accessToken: string;
}

/** What a finished authorization code flow leaves behind, by the provider's own models: one grant for each account. */
export async function createGrants(
  provider: Provider,
  client: Client,
  accountIds: string[],
): Promise<GrantTokens[]> {
  const batch = 20;
  const tokens: GrantTokens[] = [];
  for (let start = 0; start < accountIds.length; start += batch) {
    const ids = accountIds.slice(start, start + batch);
    tokens.push(...(await Promise.all(ids.map((id) => createGrant(provider, client, id)))));
  }
  return tokens;
}

async function createGrant(provider: Provider, client: Client, accountId: string): Promise<GrantTokens> {
  const grant = new provider.Grant({ accountId, clientId: client.clientId });
  grant.addOIDCScope(scope);
  const grantId = await grant.save();
  const shared = { accountId, client, grantId, gty: 'authorization_code', scope };
  const authTime = Math.floor(Date.now() / 1000);
  const [refreshToken, accessToken] = await Promise.all([
    new provider.RefreshToken({ ...shared, authTime }).save(),
    new provider.AccessToken(shared).save(),
  ]);
  return { refreshToken, accessToken };
}
