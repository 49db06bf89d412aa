/** What one contender did in one window of time. */
export interface Sample {
  operations: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** User and system time of every process of the server, in microseconds; undefined where there is none to ask. */
  serverCpuMicros: number | undefined;
  /** The same of PostgreSQL, where the contender uses it. */
  databaseCpuMicros?: number;
  /** What else was measured beside, by name: `jwks p99 ms`. */
  extras?: Readonly<Record<string, number>>;
}

/** What a row compares: ourselves, a peer, or a limit. */
export interface Contender {
  name: string;
  /** Measures for so many seconds, once its connections are there. */
  measure: (seconds: number) => Promise<Sample>;
  /** Works for so many seconds before the first round, where that is not the same. */
  warmUp?: (seconds: number) => Promise<unknown>;
}

/** At least this many times the throughput of another contender of the row. */
export interface RatioGoal {
  kind: 'ratio';
  of: string;
  /** Absent: shown, and not judged. */
  atLeast?: number;
}

/** A bound on what a contender's samples say by themselves. */
export interface BoundGoal {
  kind: 'bound';
  /** `cpu µs`, or the name of an extra. */
  measure: string;
  atMost: number;
  /** Default: the row's first contender. */
  contender?: string;
}

export type Goal = RatioGoal | BoundGoal;

/** A contender that cannot be measured here, and why. */
export interface Absence {
  name: string;
  reason: string;
}

/** One path, and everybody who is measured on it; the first contender is ourselves. */
export interface Row {
  contenders: Contender[];
  absent: Absence[];
}
