import { type AccessTokenClaims, type RefreshTokenClaims, sessionEpochOf } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier } from '@tessera/jwt-verify';

export interface OwnTokenVerifiers {
  refreshVerifier: TokenVerifier<'refresh'>;
  accessVerifier: TokenVerifier<'access'>;
  /** Verifies an access token of a client, for whichever audience. */
  readClientToken: (token: string) => Promise<AccessTokenClaims>;
}

type OwnToken =
  | { kind: 'access'; claims: AccessTokenClaims }
  | { kind: 'refresh'; claims: RefreshTokenClaims };

/** Verifies a token that this service issued, of either kind. Returns undefined for an invalid or expired token. */
export async function verifyOwnToken(
  { refreshVerifier, accessVerifier, readClientToken }: OwnTokenVerifiers,
  presented: string,
): Promise<OwnToken | undefined> {
  const refresh = await orUndefined(refreshVerifier.verify(presented));
  if (refresh !== undefined) return { kind: 'refresh', claims: refresh };
  const access =
    (await orUndefined(accessVerifier.verify(presented))) ?? (await orUndefined(readClientToken(presented)));
  return access === undefined ? undefined : { kind: 'access', claims: access };
}

/**
 * Whether all sessions of the identity ended after the token was issued. Compares epochs, not times: `iat` is in whole
 * seconds, clocks of replicas differ, and a token may be issued while the sessions end.
 */
export function isOfEndedSession(identity: { sessionEpoch: number }, { jti }: { jti: string }): boolean {
  return sessionEpochOf({ jti }) !== identity.sessionEpoch;
}

/** Whether a token was issued before a time. A token issued in the same second counts as issued afterwards. */
export function wasIssuedBefore(sessionsValidAfter: Date, { iat }: { iat: number }): boolean {
  return iat < Math.floor(sessionsValidAfter.getTime() / 1000);
}

async function orUndefined<Claims>(verification: Promise<Claims>): Promise<Claims | undefined> {
  try {
    return await verification;
  } catch (error) {
    if (error instanceof InvalidTokenError) return undefined;
    throw error;
  }
}
