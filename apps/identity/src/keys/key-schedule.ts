/** How long a key set may be kept by whoever fetched it, in seconds; `Cache-Control` of `/jwks` says so. */
export const jwksMaxAgeSeconds = 300;

/** How far the clocks of two machines may differ, in seconds. */
const clockSkewSeconds = 60;

export interface Lifetimes {
  accessTtlSeconds: number;
  refreshAbsoluteTtlSeconds: number;
  /** How long a change of the keys takes to reach every replica, in seconds. */
  rolloutSeconds: number;
}

/**
 * How long a key stays in each state, in seconds: until everybody has fetched it, until no access token under it lives,
 * and until no refresh token does.
 */
export function waitingTimes({ accessTtlSeconds, refreshAbsoluteTtlSeconds, rolloutSeconds }: Lifetimes) {
  return {
    activate: 2 * jwksMaxAgeSeconds + rolloutSeconds,
    retire: accessTtlSeconds + clockSkewSeconds + rolloutSeconds,
    delete: refreshAbsoluteTtlSeconds + clockSkewSeconds + rolloutSeconds,
  };
}
