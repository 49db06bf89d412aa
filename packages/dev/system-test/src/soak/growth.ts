import type { Measurement } from './measurement.ts';

/** The limits at the end, relative to the values after the first minute. */
export const growthRule = {
  /** V8 and malloc do not return all memory to the system, so only the heap shows a leak. */
  rss: { factor: 1.3, plus: 48 },
  /** Bounded caches, such as that of verified signatures, fill up. */
  heap: { factor: 1.25, plus: 8 },
  /** The connections of the load and of the pools vary. */
  handles: { factor: 1, plus: 25 },
  sockets: { factor: 1, plus: 25 },
};

/** The connections of a replica: 10 for requests and 1 for readiness; issues has 5 more for lists and 2 for limits. */
const connectionsPerReplica = { identity: 11, issues: 18 };

/** The values that exceed their limits. */
export function growthProblems(baseline: Measurement, end: Measurement, replicas: number): string[] {
  const problems: string[] = [];
  for (const after of end.processes) {
    const before = baseline.processes.find(({ name }) => name === after.name);
    if (before === undefined) continue;
    for (const what of ['rss', 'heap', 'handles', 'sockets'] as const) {
      const allowed = before[what] * growthRule[what].factor + growthRule[what].plus;
      if (!(after[what] <= allowed)) {
        problems.push(
          `${after.name}: ${what} is ${after[what].toFixed(0)}, the limit is ${allowed.toFixed(0)}`,
        );
      }
    }
  }
  for (const name of ['identity', 'issues'] as const) {
    const allowed = connectionsPerReplica[name] * replicas;
    if (end.databaseConnections[name] > allowed) {
      problems.push(
        `${name}: ${end.databaseConnections[name]} database connections, the limit is ${allowed}`,
      );
    }
  }
  return problems;
}
