/** The measurement of one contender in one window of time. */
export interface Sample {
  operations: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** User and system time of the server's processes in microseconds. */
  serverCpuMicros: number;
  /**
   * User and system time of PostgreSQL in microseconds, if the contender uses PostgreSQL and it runs on this machine.
   */
  databaseCpuMicros?: number;
  /** Further measurements by name, such as `JWKS p99 ms`. */
  extras?: Readonly<Record<string, number>>;
}

/** A subject of a comparison: Tessera, a peer or a limit. */
export interface Contender {
  name: string;
  /** Measures for a number of seconds, which begin once its connections are open. */
  measure: (seconds: number) => Promise<Sample>;
  /** Runs before the first round; default: `measure`. */
  warmUp?: (seconds: number) => Promise<unknown>;
}

/** Compares the throughput of Tessera with that of another contender. */
export interface RatioGoal {
  kind: 'ratio';
  of: string;
  /** The minimum ratio of the goal. Absent if the ratio is only shown. */
  atLeast?: number;
  /** Why no service can reach it on this machine. Such a goal counts only if it is met. */
  outOfReach?: string;
}

/** Bounds a value of one contender. */
export interface BoundGoal {
  kind: 'bound';
  /** `cpu µs`, or the name of an extra. */
  measure: string;
  atMost: number;
  /** Default: the first contender. */
  contender?: string;
}

export type Goal = RatioGoal | BoundGoal;

/** A contender that cannot run on this machine. */
export interface Absence {
  name: string;
  reason: string;
}

/** The contenders of a row, Tessera first. */
export interface Row {
  contenders: Contender[];
  absent: Absence[];
}
