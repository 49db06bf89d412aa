import type { AccessTokenClaims, RefreshTokenClaims } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier } from '@tessera/jwt-verify';

export interface OwnTokenVerifiers {
  refreshVerifier: TokenVerifier<'refresh'>;
  accessVerifier: TokenVerifier<'access'>;
}

type OwnToken =
  | { kind: 'access'; claims: AccessTokenClaims }
  | { kind: 'refresh'; claims: RefreshTokenClaims };

/** A token of either kind that this service signed and that has not expired; undefined for anything else. */
export async function readOwnToken(
  { refreshVerifier, accessVerifier }: OwnTokenVerifiers,
  presented: string,
): Promise<OwnToken | undefined> {
  const refresh = await orUndefined(refreshVerifier.verify(presented));
  if (refresh !== undefined) return { kind: 'refresh', claims: refresh };
  const access = await orUndefined(accessVerifier.verify(presented));
  return access === undefined ? undefined : { kind: 'access', claims: access };
}

/**
 * Whether a token was issued before its identity's sessions ended. `iat` has whole seconds: a token of the very second
 * in which they ended passes.
 */
export function isOlderThan(sessionsValidAfter: Date | null, { iat }: { iat: number }): boolean {
  return sessionsValidAfter !== null && iat < Math.floor(sessionsValidAfter.getTime() / 1000);
}

async function orUndefined<Claims>(verification: Promise<Claims>): Promise<Claims | undefined> {
  try {
    return await verification;
  } catch (error) {
    if (error instanceof InvalidTokenError) return undefined;
    throw error;
  }
}
