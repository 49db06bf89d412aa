/** The `max-age` of `/jwks`, in seconds. */
export const jwksMaxAgeSeconds = 300;

/** The largest assumed clock difference between two machines, in seconds. */
const clockSkewSeconds = 60;

export interface Lifetimes {
  accessTtlSeconds: number;
  refreshAbsoluteTtlSeconds: number;
  /** How long a change takes to reach every replica, in seconds. */
  rolloutSeconds: number;
}

/**
 * Returns the waiting time before each step, in seconds: `activate` until every consumer has fetched the key, `retire`
 * until all access tokens signed with it have expired, `delete` until all refresh tokens have expired.
 */
export function waitingTimes({ accessTtlSeconds, refreshAbsoluteTtlSeconds, rolloutSeconds }: Lifetimes) {
  return {
    activate: 2 * jwksMaxAgeSeconds + rolloutSeconds,
    retire: accessTtlSeconds + clockSkewSeconds + rolloutSeconds,
    delete: refreshAbsoluteTtlSeconds + clockSkewSeconds + rolloutSeconds,
  };
}
