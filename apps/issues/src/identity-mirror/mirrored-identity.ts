import type { Identity } from '@tessera/contracts';

/** An identity as the identity service returned it. */
export interface KnownIdentity {
  id: string;
  username: string;
  displayName: string | null;
  email: string;
  ssoProvider: string | null;
  ssoId: string | null;
  isActive: boolean;
  isVerified: boolean;
  isStaff: boolean;
  isSuperuser: boolean;
}

/** A row of the mirror: the identity, and when it was confirmed. */
export interface MirroredIdentity extends KnownIdentity {
  /** When the identity had this state, by identity's clock: its `updated_at`, or the `iat` of a token. */
  asOf: Date;
  /** When identity last responded for this id, by our clock. Null if the row comes from tokens only. */
  checkedAt: Date | null;
  /** When identity first responded that the id does not exist. */
  missingSince: Date | null;
  /** When the identity last used this service, as returned by `seenOrderOf`; 0 if never. */
  seenOrder: number;
}

/** The row of a caller. */
export interface MirroredCaller extends MirroredIdentity {
  /** How often all sessions have ended at identity, as its events tell; 0 if they do not. */
  sessionEpoch: number;
}

/** Converts a time to negative hours since 1970, so that ascending order returns the latest first. */
export function seenOrderOf(time: number): number {
  return -Math.floor(time / 3_600_000);
}

/** The source of a row: the response to a change, the response to a lookup, or the claims of a token. */
export type MirrorSource = 'write' | 'lookup' | 'token';

/** The latest time at which the row was confirmed. */
export function confirmedAt({ asOf, checkedAt }: MirroredIdentity): Date {
  return checkedAt !== null && checkedAt > asOf ? checkedAt : asOf;
}

/** Whether the token was issued after the row was confirmed. */
export function isOlderThan(row: MirroredIdentity, { iat }: { iat: number }): boolean {
  return confirmedAt(row).getTime() < iat * 1000;
}

/** Converts a response of identity. */
export function toKnownIdentity(wire: Identity): KnownIdentity & { updatedAt: Date } {
  return {
    id: wire.id,
    username: wire.username,
    displayName: wire.display_name,
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
/** How long a row is used without asking identity. */
const freshMs = 5 * minute;
/** How old a row may be that is used while identity is down. */
const staleMs = 24 * 60 * minute;

/** Whether the row can be used without asking identity. The limit has jitter, so rows do not expire all at once. */
export function isFresh({ checkedAt }: MirroredIdentity): boolean {
  return checkedAt !== null && ageOf(checkedAt) < freshMs * (0.8 + Math.random() * 0.4);
}

/** Whether the row may be used while identity is down. */
export function isUsableDuringOutage(mirrored: MirroredIdentity): boolean {
  return ageOf(confirmedAt(mirrored)) < staleMs;
}

function ageOf(time: Date): number {
  return Date.now() - time.getTime();
}
