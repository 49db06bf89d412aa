import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AccessTokenClaims } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier, verifyRequest } from '@tessera/jwt-verify';
import { ProblemError } from '@tessera/service-kit';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import { isOlderThan, type MirroredIdentity } from '../identity-mirror/mirrored-identity.ts';
import { type Actor, setActor } from './actor.ts';

/** What `WWW-Authenticate` names. */
export const realm = 'issues';

interface AuthenticateOptions {
  verifier: TokenVerifier<'access'>;
  mirror: Pick<IdentityMirrorService, 'seeToken'>;
  /** Whether an identity must be verified: never, to write, or to do anything. */
  requireVerified: 'off' | 'write' | 'all';
}

/**
 * Who asks: the access token is verified here, by cached keys; the mirror says whether its identity is still active and
 * has still its rights. Identity itself is asked in one case alone: about somebody inactive who brings a newer token.
 */
export function authenticate({ verifier, mirror, requireVerified }: AuthenticateOptions) {
  return async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const claims = await verifyRequest(request, verifier, { realm });
    const mirrored = await mirror.seeToken(claims, request.requestId);
    if (mirrored !== undefined && !mirrored.isActive) throw inactiveProblem();
    const actor = toActor(claims, mirrored);
    const mustBeVerified =
      requireVerified === 'all' || (requireVerified === 'write' && !isSafe(request.method));
    if (mustBeVerified && !actor.isVerified) throw unverifiedProblem();
    setActor(response, actor);
  };
}

// Least privilege: where the mirror is newer than the token, a right needs both.
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
