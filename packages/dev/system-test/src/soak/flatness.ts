import type { Measurement } from './measurement.ts';

/** What a process may hold at the end, given what it held after the first minute. */
export const growthRule = {
  /** V8 keeps what it once had, and malloc's arenas fragment: of a leak, the heap tells. */
  rss: { factor: 1.3, plus: 48 },
  /** Caches that are bounded, such as that of verified signatures, fill up. */
  heap: { factor: 1.25, plus: 8 },
  /** Connections of the load and of the pools come and go. */
  handles: { factor: 1, plus: 25 },
  sockets: { factor: 1, plus: 25 },
};

/** The most connections that a replica's pools open: 10, and for issues 5 more for lists. */
const connectionsPerReplica = { identity: 10, issues: 15 };

/** What grew beyond the rule; nothing where all is flat. */
export function growthProblems(baseline: Measurement, end: Measurement, replicas: number): string[] {
  const problems: string[] = [];
  for (const after of end.processes) {
    const before = baseline.processes.find(({ name }) => name === after.name);
    if (before === undefined) continue;
    for (const what of ['rss', 'heap', 'handles', 'sockets'] as const) {
      const allowed = before[what] * growthRule[what].factor + growthRule[what].plus;
      if (!(after[what] <= allowed)) {
        problems.push(
          `${after.name}: ${what} ${after[what].toFixed(0)}, and ${allowed.toFixed(0)} was allowed`,
        );
      }
    }
  }
  for (const name of ['identity', 'issues'] as const) {
    const allowed = connectionsPerReplica[name] * replicas;
    if (end.databaseConnections[name] > allowed) {
      problems.push(
        `${name}: ${end.databaseConnections[name]} database connections, ${allowed} were allowed`,
      );
    }
  }
  return problems;
}
