import { availableParallelism } from 'node:os';
import { refreshConnections } from '../contenders/endpoints.ts';
import { readConnections } from '../contenders/http-contender.ts';
import type { Lab } from '../lab/lab.ts';
import type { Tessera } from '../lab/tessera.ts';
import type { Load } from '../load/load.ts';
import { loadOf, watchCpu } from './measure-costs.ts';
import type { Measurements, Proof, SizingResults } from './measurements.ts';
import { bytesOf, coresOf, ratesOf, usersAt } from './model.ts';
import { type OperationName, operationNames, operations } from './profile.ts';
import { readSizes, serviceNames, totalOf } from './table-sizes.ts';

/**
 * The cores of this machine for identity, and for issues with its PostgreSQL. The load generator needs the others.
 * Identity uses so little that one number of users for both would measure an idle process, whose requests cost a third more.
 */
const usedCores = { identity: 0.2 * availableParallelism(), issues: 0.25 * availableParallelism() };

type Users = SizingResults['mixUsers'];

/** The daily users whose busiest hour takes the given shares of the cores of this machine. */
export function mixUsersOf(measurements: Measurements): Users {
  const silent = { ...measurements, messageMicros: 0 };
  const at = (demand: (users: number) => number, capacity: number) =>
    Number(usersAt(demand, capacity).toPrecision(2));
  return {
    identity: at((users) => coresOf(users, silent).identity, usedCores.identity),
    issues: at(
      (users) => coresOf(users, silent).issues + coresOf(users, silent).postgres.issues,
      usedCores.issues,
    ),
  };
}

/** Sends the requests of the busiest hour at their rates, and compares the processor time with that of the table. */
export async function proveCpu(
  lab: Lab,
  tessera: Tessera,
  { measurements, users, seconds }: { measurements: Measurements; users: Users; seconds: number },
): Promise<Proof[]> {
  lab.note(
    `busiest hour of ${users.identity} (identity) and ${users.issues} (issues) daily users for ${seconds} s`,
  );
  const rates = { identity: ratesOf(users.identity), issues: ratesOf(users.issues) };
  const cpu = await watchCpu(lab, tessera);
  const loads: [OperationName, Load][] = [];
  for (const name of operationNames) {
    const perSecond = rates[operations[name].endpoint.service][name];
    // A connection waits for the time of its next request, also when the window has closed.
    const connections = Math.min(readConnections, Math.ceil(perSecond));
    const load = await loadOf(tessera, name);
    loads.push([name, { ...load, connections, perSecond, warmUpSeconds: 5, seconds }]);
  }
  let used: ReturnType<typeof cpu.stop> | undefined;
  const results = await Promise.all(
    loads.map(async ([name, load], index) => {
      const result = await lab.generator().run(load, (event) => {
        // All windows open and close together.
        if (index > 0) return;
        if (event === 'opened') cpu.start();
        else used = cpu.stop();
      });
      return [name, result.operations] as const;
    }),
  );
  lab.emptyLogs();
  if (used === undefined) throw new Error('the processor time was not read');
  const expected = { identity: 0, issues: 0, database: 0 };
  const requests = { identity: 0, issues: 0, database: 0 };
  for (const [name, count] of results) {
    const { service } = operations[name].endpoint;
    expected[service] += count * measurements.costs[name].serviceMicros;
    expected.database += count * measurements.costs[name].databaseMicros;
    requests[service] += count;
    requests.database += count;
  }
  const { identity, issues, database } = used;
  const measured = { identity, issues, database };
  const titles = {
    identity: 'a request of identity',
    issues: 'a request of issues',
    database: 'PostgreSQL for a request',
  };
  return (['identity', 'issues', 'database'] as const).map((part) => ({
    claim: `processor time of ${titles[part]}`,
    unit: 'µs',
    table: expected[part] / requests[part],
    measured: measured[part] / requests[part],
  }));
}

/** The parts of the lives of the issues and sessions between two vacuums. */
const slices = 5;
const commentsPerIssue = 3;
const changesPerIssue = 2;
const refreshesPerSession = 20;

/** Lets issues and sessions grow in databases in use, and compares the growth of the files with the table. */
export async function proveBytes(
  lab: Lab,
  tessera: Tessera,
  { measurements, issues, sessions }: { measurements: Measurements; issues: number; sessions: number },
): Promise<Proof[]> {
  const before = await readSizes(tessera.stack, 'ANALYZE');
  const sent: Record<'create' | 'sign-in', number> = { create: 0, 'sign-in': 0 };
  const send = async (name: OperationName, total: number) => {
    const load = await loadOf(tessera, name);
    const result = await lab.generator().run({ ...load, total: Math.ceil(total), seconds: 0 });
    if (name === 'create' || name === 'sign-in') sent[name] += result.sent;
    // The sessions that the refreshes start with.
    sent['sign-in'] += load.chain?.tokens.length ?? 0;
    lab.emptyLogs();
  };
  for (let slice = 0; slice < slices; slice += 1) {
    lab.note(`sessions and issues, part ${slice + 1} of ${slices}`);
    await send('sign-in', sessions / slices);
    await send('refresh', (sessions / slices + refreshConnections) * refreshesPerSession);
    await send('create', issues / slices);
    await send('comment', (issues / slices) * commentsPerIssue);
    await send('status', (issues / slices) * changesPerIssue);
    for (const service of serviceNames) await tessera.stack.sql(service, 'VACUUM');
  }
  const after = await readSizes(tessera.stack, 'ANALYZE');
  return [
    {
      claim: `an issue with ${commentsPerIssue} comments and ${changesPerIssue} changes of its status`,
      unit: 'bytes',
      table:
        bytesOf(measurements, 'create') +
        commentsPerIssue * bytesOf(measurements, 'comment') +
        changesPerIssue * bytesOf(measurements, 'status'),
      measured: (totalOf(after, 'issues') - totalOf(before, 'issues')) / sent.create,
    },
    {
      claim: `a session with ${refreshesPerSession} refreshes`,
      unit: 'bytes',
      table: bytesOf(measurements, 'sign-in') + refreshesPerSession * bytesOf(measurements, 'refresh'),
      measured: (totalOf(after, 'identity') - totalOf(before, 'identity')) / sent['sign-in'],
    },
  ];
}
