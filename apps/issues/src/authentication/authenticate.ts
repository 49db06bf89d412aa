import type { IncomingMessage } from 'node:http';
import type { AccessTokenClaims } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier, verifyRequest } from '@tessera/jwt-verify';
import { ProblemError } from '@tessera/service-kit';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import { isOlderThan, type MirroredIdentity } from '../identity-mirror/mirrored-identity.ts';
import type { Actor } from './actor.ts';

/** What `WWW-Authenticate` names. */
export const realm = 'issues';

interface AuthenticateOptions {
  verifier: TokenVerifier<'access'>;
  mirror: Pick<IdentityMirrorService, 'seeToken'>;
  /** Whether an identity must be verified: never, to write, or to do anything. */
  requireVerified: 'off' | 'write' | 'all';
}

/**
 * Identifies the caller: verifies the access token with cached keys, and takes from the mirror whether the identity is
 * still active and has its rights. The identity service is asked only about an inactive identity with a newer token.
 */
export function authenticate({ verifier, mirror, requireVerified }: AuthenticateOptions) {
  return async (request: IncomingMessage): Promise<Actor> => {
    const claims = await verifyRequest(request, verifier, { realm });
    const mirrored = await mirror.seeToken(claims, request.requestId);
    if (mirrored !== undefined && !mirrored.isActive) throw inactiveProblem();
    const actor = toActor(claims, mirrored);
    const mustBeVerified =
      requireVerified === 'all' || (requireVerified === 'write' && !isSafe(request.method));
    if (mustBeVerified && !actor.isVerified) throw unverifiedProblem();
    return actor;
  };
}

// Least privilege: if the mirror is newer than the token, a right needs both.
function toActor(claims: AccessTokenClaims, mirrored: MirroredIdentity | undefined): Actor {
  const newer = mirrored === undefined || isOlderThan(mirrored, claims) ? undefined : mirrored;
  return {
    id: claims.sub,
    username: newer?.username ?? claims.username,
    email: newer?.email ?? claims.email,
    isVerified: newer?.isVerified ?? claims.is_verified,
    isStaff: claims.is_staff && (newer?.isStaff ?? true),
    isSuperuser: claims.is_superuser && (newer?.isSuperuser ?? true),
  };
}

function isSafe(method = ''): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function inactiveProblem(): ProblemError {
  const { headers } = new InvalidTokenError('inactive identity', realm);
  return new ProblemError({
    status: 401,
    code: 'identity_inactive',
    detail: 'The identity of this token is not active any more.',
    headers,
  });
}

function unverifiedProblem(): ProblemError {
  return new ProblemError({
    status: 403,
    code: 'unverified',
    detail: 'The identity must be verified first.',
  });
}
