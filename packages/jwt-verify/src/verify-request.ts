import type { AccessTokenClaims } from '@tessera/contracts';
import { type AuthorizedRequest, extractBearerToken } from './bearer-token.ts';
import { InvalidTokenError } from './errors.ts';
import type { TokenVerifier } from './token-verifier.ts';

/**
 * Returns the claims of a request's access token, frozen. Throws a `BearerError` with `realm` in its challenge. For any
 * Node server; `@tessera/jwt-verify/express` has a middleware.
 */
export async function verifyRequest(
  request: AuthorizedRequest,
  verifier: TokenVerifier<'access'>,
  { realm }: { realm: string },
): Promise<Readonly<AccessTokenClaims>> {
  const token = extractBearerToken(request, realm);
  try {
    return await verifier.verify(token);
  } catch (error) {
    throw error instanceof InvalidTokenError ? new InvalidTokenError(error.reason, realm) : error;
  }
}
