import type { IncomingMessage } from 'node:http';
import { type AccessTokenClaims, sessionEpochOf } from '@tessera/contracts';
import {
  BearerError,
  InvalidTokenError,
  type TokenVerifier,
  unverifiedTokenIds,
  verifyRequest,
} from '@tessera/jwt-verify';
import { ProblemError } from '@tessera/service-kit';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import { isOlderThan, type MirroredIdentity } from '../identity-mirror/mirrored-identity.ts';
import type { Actor } from '../issue-core/actor.ts';
import { StaleAccess } from '../issue-core/project-access.ts';
import type { AccessReader } from '../issue-store/access-reader.ts';

/** The realm in `WWW-Authenticate`. */
export const realm = 'issues';

export interface ActorOptions {
  mirror: Pick<IdentityMirrorService, 'syncFromClaims'>;
  access: Pick<AccessReader, 'of' | 'forget'>;
  /** The requests that require a verified identity: none, writes or all. */
  requireVerified: 'off' | 'write' | 'all';
}

interface AuthenticateOptions extends ActorOptions {
  verifier: TokenVerifier<'access'>;
}

/**
 * Authenticates the request. Verifies the access token with cached keys, then checks in the mirror that the identity is
 * active, has not ended all sessions since and still has its privileges. Calls the identity service only if the mirror says
 * inactive and the token is newer.
 */
export function authenticate({ verifier, ...options }: AuthenticateOptions) {
  const actorOf = findActor(options);
  return async (request: IncomingMessage): Promise<Actor> =>
    actorOf(await verifyRequest(request, verifier, { realm }), request);
}

/** Returns the second step of {@link authenticate}: finds the actor of verified claims. */
export function findActor({ mirror, access, requireVerified }: ActorOptions) {
  return async (claims: AccessTokenClaims, request: IncomingMessage): Promise<Actor> => {
    const mirrored = await mirror.syncFromClaims(claims, request.requestId);
    if (mirrored !== undefined && !mirrored.isActive) throw inactiveProblem(request);
    const sessionEpoch = sessionEpochOf(claims);
    if (sessionEpoch !== undefined && sessionEpoch < (mirrored?.sessionEpoch ?? 0))
      throw new InvalidTokenError('all sessions of the identity have ended', realm);
    const person = { ...toActor(claims, mirrored), sessionEpoch };
    const mustBeVerified =
      requireVerified === 'all' || (requireVerified === 'write' && !isSafe(request.method));
    if (mustBeVerified && !person.isVerified) throw unverifiedProblem();
    return { ...person, access: await access.of(person.id, person.isStaff || person.isSuperuser) };
  };
}

/** Reads again what an actor may see and do in projects, after a write has found that it has changed. */
export function renewAccess({ access }: Pick<ActorOptions, 'access'>) {
  return async <Caller extends Actor>(error: unknown, actor: Caller): Promise<Caller> => {
    if (!(error instanceof StaleAccess)) throw error;
    access.forget();
    return { ...actor, access: await access.of(actor.id, actor.isStaff || actor.isSuperuser) };
  };
}

/** Returns the problem of an error of the steps above; undefined for another error. */
export function translateAccessError(error: unknown, request: IncomingMessage): ProblemError | undefined {
  if (error instanceof BearerError) {
    const { status, code, headers, reason } = error;
    const logged = { reason, ...unverifiedTokenIds(request) };
    return new ProblemError({ status, code, detail: error.message, headers, cause: error, logged });
  }
  if (!(error instanceof StaleAccess)) return undefined;
  // Where a request cannot be carried out again, its client repeats it.
  return new ProblemError({
    status: 409,
    code: 'request_in_progress',
    detail: 'The rights of the caller have just changed.',
    headers: { 'Retry-After': '1' },
    cause: error,
  });
}

// If the mirror is newer than the token, a privilege must be in both (least privilege).
function toActor(
  claims: AccessTokenClaims,
  mirrored: MirroredIdentity | undefined,
): Omit<Actor, 'sessionEpoch' | 'access'> {
  const newer = mirrored === undefined || isOlderThan(mirrored, claims) ? undefined : mirrored;
  return {
    id: claims.sub,
    username: newer?.username ?? claims.username,
    email: newer?.email ?? claims.email,
    isVerified: newer?.isVerified ?? claims.is_verified,
    isStaff: claims.is_staff && (newer?.isStaff ?? true),
    isSuperuser: claims.is_superuser && (newer?.isSuperuser ?? true),
    tokenExpiresAt: new Date(claims.exp * 1000),
  };
}

/** Whether the method only reads (RFC 9110 9.2.1). */
export function isSafe(method = ''): boolean {
  return method === 'GET' || method === 'HEAD' || method === 'OPTIONS';
}

function inactiveProblem(request: IncomingMessage): ProblemError {
  const { headers, reason } = new InvalidTokenError('inactive identity', realm);
  return new ProblemError({
    status: 401,
    code: 'identity_inactive',
    detail: 'The identity of this token is no longer active.',
    headers,
    logged: { reason, ...unverifiedTokenIds(request) },
  });
}

function unverifiedProblem(): ProblemError {
  return new ProblemError({
    status: 403,
    code: 'unverified',
    detail: 'The identity must be verified.',
  });
}
