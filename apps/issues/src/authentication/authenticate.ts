import type { AccessTokenClaims } from '@tessera/contracts';
import { InvalidTokenError, type TokenVerifier } from '@tessera/jwt-verify';
import { accessTokenOf, requireAccessToken } from '@tessera/jwt-verify/express';
import { ProblemError } from '@tessera/service-kit';
import type { RequestHandler } from 'express';
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
export function authenticate({ verifier, mirror, requireVerified }: AuthenticateOptions): RequestHandler[] {
  const recognise: RequestHandler = async (request, response, next) => {
    const claims = accessTokenOf(response);
    const mirrored = await mirror.seeToken(claims, request.requestId);
    if (mirrored !== undefined && !mirrored.isActive) throw inactiveProblem();
    const actor = toActor(claims, mirrored);
    const mustBeVerified =
      requireVerified === 'all' || (requireVerified === 'write' && !isSafe(request.method));
    if (mustBeVerified && !actor.isVerified) throw unverifiedProblem();
    setActor(response, actor);
    next();
  };
  return [requireAccessToken(verifier, { realm }), recognise];
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

function isSafe(method: string): boolean {
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
