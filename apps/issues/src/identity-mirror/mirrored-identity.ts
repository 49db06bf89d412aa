import type { Identity } from '@tessera/contracts';

/** An identity as identity itself has told it. */
export interface KnownIdentity {
  id: string;
  username: string;
  email: string;
  ssoProvider: string | null;
  ssoId: string | null;
  isActive: boolean;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
}

/** A row of the mirror: what was told, and how sure that is. */
export interface MirroredIdentity extends KnownIdentity {
  /** Which state of the identity this is, by identity's clock: its `updated_at`, or the `iat` of a token. */
  asOf: Date;
  /** When identity last answered about the id, by our clock; null where only tokens have told of it. */
  checkedAt: Date | null;
  /** Since when identity does not know the id any more. */
  missingSince: Date | null;
}

/** Where a fact came from: an answer to a change, an answer to a look-up, or the claims of a token. */
export type MirrorSource = 'write' | 'lookup' | 'token';

/** The latest moment at which a row was known to be true. */
export function confirmedAt({ asOf, checkedAt }: MirroredIdentity): Date {
  return checkedAt !== null && checkedAt > asOf ? checkedAt : asOf;
}

/** Whether a token was issued after a row was known to be true. */
export function isOlderThan(row: MirroredIdentity, { iat }: { iat: number }): boolean {
  return confirmedAt(row).getTime() < iat * 1000;
}

/** An answer's identity, and the state of it that the answer is of. */
export function readIdentity(wire: Identity): KnownIdentity & { updatedAt: Date } {
  return {
    id: wire.id,
    username: wire.username,
    email: wire.email,
    ssoProvider: wire.sso_provider,
    ssoId: wire.sso_id,
    isActive: wire.is_active,
    isVerified: wire.is_verified,
    isStaff: wire.is_staff,
    isSuperuser: wire.is_superuser,
    updatedAt: new Date(wire.updated_at),
  };
}

const minute = 60_000;
/** How long a look-up answers for identity. */
const freshMs = 5 * minute;
/** How old a row may be that stands in while identity is down. */
const staleMs = 24 * 60 * minute;

/** Whether a row answers for identity: for a spread of times, so that rows of one moment do not all end in one moment. */
export function isFresh({ checkedAt }: MirroredIdentity): boolean {
  return checkedAt !== null && ageOf(checkedAt) < freshMs * (0.8 + Math.random() * 0.4);
}

/** Whether a row is young enough to stand in while identity is down. */
export function mayStandIn(mirrored: MirroredIdentity): boolean {
  return ageOf(confirmedAt(mirrored)) < staleMs;
}

function ageOf(moment: Date): number {
  return Date.now() - moment.getTime();
}
