import type { Measurements } from './measurements.ts';
import {
  keptDays,
  listedIssues,
  type Operation,
  type OperationName,
  openShare,
  operationNames,
  operations,
  pauseSeconds,
  peakShare,
  spareFactor,
  usedShare,
} from './profile.ts';
import { serviceNames } from './table-sizes.ts';

export type ServiceName = (typeof serviceNames)[number];
export type CostTime = 'serviceMicros' | 'databaseMicros';

const secondsOfPeak = 3_600;
export const daysOfYear = 365;

/** The browsers that have the web app open in the busiest hour; each reads one stream of events. */
export const openBrowsers = (users: number) => users * openShare;

/** Requests a second in the busiest hour. */
export function ratesOf(users: number): Record<OperationName, number> {
  const rates = Object.fromEntries(
    operationNames.map((name) => [name, (users * operations[name].perDay * peakShare) / secondsOfPeak]),
  ) as Record<OperationName, number>;
  const writes = sumOf(rates, 'write');
  return { ...rates, live: (openBrowsers(users) * writes) / (1 + pauseSeconds * writes) };
}

/** The sum of the rates of a kind. */
export function sumOf(rates: Record<OperationName, number>, kind: Operation['kind']): number {
  return operationNames.reduce((sum, name) => (operations[name].kind === kind ? sum + rates[name] : sum), 0);
}

/** The changed issues of a read: that of the event that caused it, and those of the pause before it. */
export const changesPerRead = (users: number) => 1 + pauseSeconds * sumOf(ratesOf(users), 'write');

/** The messages a second of all streams. */
export const messagesOf = (users: number) => openBrowsers(users) * sumOf(ratesOf(users), 'write');

/** The processor time of a read of changed issues: between that of one issue and that of a list, by their number. */
export function liveMicrosOf(users: number, { costs }: Pick<Measurements, 'costs'>, time: CostTime): number {
  const listShare = Math.min(1, (changesPerRead(users) - 1) / (listedIssues - 1));
  return costs.live[time] + listShare * (costs.list[time] - costs.live[time]);
}

/** The cores that each service, and the PostgreSQL server of each, use in the busiest hour, without spare. */
export function coresOf(users: number, measurements: Measurements) {
  const { costs, messageMicros } = measurements;
  const rates = ratesOf(users);
  const costOf = (name: OperationName, time: CostTime) =>
    name === 'live' ? liveMicrosOf(users, measurements, time) : costs[name][time];
  const used = (names: readonly OperationName[], time: CostTime) =>
    names.reduce((sum, name) => sum + (rates[name] * costOf(name, time)) / 1e6, 0);
  const of = (service: ServiceName) =>
    operationNames.filter((name) => operations[name].endpoint.service === service);
  return {
    identity: used(of('identity'), 'serviceMicros'),
    issues: used(of('issues'), 'serviceMicros') + (messagesOf(users) * messageMicros) / 1e6,
    live: used(['live'], 'serviceMicros') + (messagesOf(users) * messageMicros) / 1e6,
    postgres: {
      identity: used(of('identity'), 'databaseMicros'),
      issues: used(of('issues'), 'databaseMicros'),
    },
  };
}

/** The replicas of a service for its cores; two at least, so that one can be replaced. */
export const replicasFor = (cores: number) => Math.max(2, Math.ceil(cores / usedShare));

/** The gigabytes of a database after a year, and those of the given tables alone. */
export function gigabytesOf(
  users: number,
  { costs }: Pick<Measurements, 'costs'>,
  service: ServiceName,
  tables?: readonly string[],
): number {
  const bytes = operationNames.flatMap((name) =>
    Object.entries(costs[name].bytes[service])
      .filter(([table]) => tables === undefined || tables.includes(table))
      .map(
        ([table, each]) =>
          each * operations[name].perDay * Math.min(daysOfYear, keptDays[service][table] ?? daysOfYear),
      ),
  );
  return (users * spareFactor * bytes.reduce((sum, each) => sum + each, 0)) / 1e9;
}

/** The bytes of a request in all tables of both services, in files in use. */
export function bytesOf({ costs }: Pick<Measurements, 'costs'>, name: OperationName): number {
  const each = serviceNames.flatMap((service) => Object.values(costs[name].bytes[service]));
  return spareFactor * each.reduce((sum, bytes) => sum + bytes, 0);
}

/** The number of users at which a demand, which grows with the users, reaches a capacity. */
export function usersAt(demand: (users: number) => number, capacity: number): number {
  let [low, high] = [1, 1e9];
  while (high / low > 1 + 1e-9) {
    const middle = Math.sqrt(low * high);
    if (demand(middle) < capacity) low = middle;
    else high = middle;
  }
  return low;
}
