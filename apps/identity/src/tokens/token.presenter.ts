import type { TokenResponse } from '@tessera/contracts';

/** identity-service.md 2.2 */
export function presentTokens(
  accessToken: string,
  refreshToken: string,
  expiresInSeconds: number,
): TokenResponse {
  return {
    access_token: accessToken,
    refresh_token: refreshToken,
    token_type: 'Bearer',
    expires_in: expiresInSeconds,
  };
}
