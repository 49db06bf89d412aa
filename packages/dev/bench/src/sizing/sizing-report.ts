import { migratorConnections } from '@tessera/delivery/connections';
import { round, table } from '../report/markdown.ts';
import { connections, connectionsFor, limitsOf, sharedLimitsOf } from './limits.ts';
import { isShown, type Measurements, type Proof, type SizingResults } from './measurements.ts';
import {
  bytesOf,
  type CostTime,
  coresOf,
  daysOfYear,
  gigabytesOf,
  liveMicrosOf,
  openBrowsers,
  ratesOf,
  replicasFor,
  type ServiceName,
  sumOf,
} from './model.ts';
import { asPrinted, bytesText } from './printed.ts';
import {
  keptDays,
  listedIssues,
  openShare,
  operationNames,
  operations,
  pauseSeconds,
  peakShare,
  referenceServer,
  sizes,
  spareFactor,
  usedShare,
} from './profile.ts';
import { serviceNames } from './table-sizes.ts';

/** The generated section of docs/reference/sizing.md. All its figures follow from the printed costs, except those of the proofs. */
export function sizingSection(results: SizingResults): string {
  const { date, machine } = results;
  const printed = asPrinted(results);
  const { cpu, cores, node, postgres, otherLoadPercent: other } = machine;
  const others = other === undefined ? '' : ` · other load on the machine: ${other.toFixed(1)} %`;
  return [
    `${date.slice(0, 10)} · ${cpu}, ${cores} cores for everything · Node ${node}, PostgreSQL ${postgres}${others}`,
    `The assumed day of a user, with measured costs of a request. The other figures of this section, except the proofs, follow from
the costs, bytes and assumptions as they are printed:`,
    costsTable(printed),
    `The bytes of a request in each table, and the days that a service keeps its rows. They are those of files in use: with indexes,
and ${percent(spareFactor - 1)} more than after \`VACUUM FULL\`:`,
    bytesTable(printed),
    `The busiest hour has ${percent(peakShare)} of the requests of a day, and ${percent(openShare)} of the users have a browser open. A list
that is open is read again after an event, with the changed issues only, and at most every ${pauseSeconds} s. Such a read has one change and
those of the last ${pauseSeconds} s. Its cost grows with their number, from that of one issue to that of a list of ${listedIssues}. ${percent(1 - usedShare)} of the
processor time stays free. Each service has its own PostgreSQL server:`,
    sizesTable(printed),
    `Where each limit is reached, in this order. The limits refer to the production overlay, with a core for each replica at its
largest size, and to a PostgreSQL server of ${referenceServer.cores} cores and ${referenceServer.gigabytes} GB for each service. In each of them,
${percent(1 - usedShare)} of the cores stay free, also when all users sign in:`,
    limitsTable(printed),
    'With both databases, one such server has these limits, in this order:',
    sharedLimitsTable(printed),
    `Two proofs, within a third of the table: the busiest hour for ${results.mixSeconds} s, all requests at their rates, those of identity for
${results.mixUsers.identity.toLocaleString('en')} daily users, those of issues for ${results.mixUsers.issues.toLocaleString('en')}, with one issue in each read of changed issues; and the growth of the
files of databases in use. The column "table" was computed from the costs before they were rounded:`,
    proofsTable(results.proofs),
  ].join('\n\n');
}

function costsTable(measurements: Measurements): string {
  const rows = operationNames.map((name) => {
    const { title, perDay, kind, endpoint } = operations[name];
    const { serviceMicros, databaseMicros } = measurements.costs[name];
    return [
      title,
      kind === 'live' ? '' : String(perDay),
      endpoint.service,
      round(serviceMicros),
      round(databaseMicros),
      round(bytesOf(measurements, name)),
    ];
  });
  const message = ['an event of a stream', '', 'issues', round(measurements.messageMicros), '', ''];
  return table(['operation', 'a day', 'service', 'CPU µs', 'PostgreSQL µs', 'bytes'], [...rows, message]);
}

function bytesTable(measurements: Measurements): string {
  const writing = operationNames.filter((name) => bytesOf(measurements, name) > 0);
  const rows = serviceNames.flatMap((service) =>
    Object.entries(keptDays[service]).map(([name, days]) => [
      `\`${name}\``,
      service,
      days === undefined ? 'always' : String(days),
      ...writing.map((operation) => {
        const bytes = measurements.costs[operation].bytes[service][name];
        return bytes === undefined ? '' : bytesText(spareFactor * bytes);
      }),
    ]),
  );
  return table(
    ['table', 'service', 'days kept', ...writing.map((name) => operations[name].title)],
    rows.filter(([, , , ...cells]) => cells.some((cell) => cell !== '')),
  );
}

/** A line of the table: a figure for each number of users, and its formula. */
type Line = [title: string, figure: (users: number) => string, formula: string];

function sizesTable(results: Measurements): string {
  const rate = (kind: Parameters<typeof sumOf>[1]) => (users: number) => round(sumOf(ratesOf(users), kind));
  const cores = (part: ServiceName | 'live') => (users: number) => round(coresOf(users, results)[part]);
  const databaseCores = (service: ServiceName) => (users: number) =>
    round(coresOf(users, results).postgres[service]);
  const replicas = (service: ServiceName) => (users: number) => replicasFor(coresOf(users, results)[service]);
  const gigabytes = (service: ServiceName, tables?: string[]) => (users: number) =>
    round(gigabytesOf(users, results, service, tables));
  const liveLine = (title: string, time: CostTime): Line => {
    const [one, list] = [round(results.costs.live[time]), round(results.costs.list[time])];
    return [
      `${title} µs of a read of changed issues`,
      (users) => round(liveMicrosOf(users, results, time)),
      `${one} + (${list} − ${one}) × min(1, ${pauseSeconds} × writes ÷ ${listedIssues - 1})`,
    ];
  };
  const perSecond = (kind: string) => `${kind} a day × users × ${peakShare} ÷ 3,600`;
  const stored = `Σ requests a day × users × bytes × days kept, at most ${daysOfYear}`;
  const lines: Line[] = [
    ['sign-ins a second', rate('sign-in'), perSecond('sign-ins')],
    ['refreshes a second', rate('refresh'), perSecond('refreshes')],
    ['reads a second', rate('read'), perSecond('reads')],
    ['writes a second', rate('write'), perSecond('writes')],
    ['open browsers', (users) => openBrowsers(users).toLocaleString('en'), `users × ${openShare}`],
    [
      'reads of changed issues a second',
      rate('live'),
      `open browsers × writes ÷ (1 + ${pauseSeconds} × writes)`,
    ],
    liveLine('CPU', 'serviceMicros'),
    liveLine('PostgreSQL', 'databaseMicros'),
    ['cores of identity', cores('identity'), 'Σ requests a second of the service × CPU'],
    ['cores of issues', cores('issues'), 'the same, and open browsers × writes × CPU of an event'],
    ['… of these for live updates', cores('live'), 'reads of changed issues and events of streams'],
    ...serviceNames.map(
      (service): Line => [
        `cores of PostgreSQL of ${service}`,
        databaseCores(service),
        'Σ requests a second of the service × CPU of PostgreSQL',
      ],
    ),
    [
      'replicas of identity',
      (users) => String(replicas('identity')(users)),
      `cores ÷ ${usedShare}, at least 2`,
    ],
    ['replicas of issues', (users) => String(replicas('issues')(users)), `cores ÷ ${usedShare}, at least 2`],
    ...serviceNames.map(
      (service): Line => [
        `connections of ${service}`,
        (users) => connectionsFor(service, replicas(service)(users)).toLocaleString('en'),
        `(replicas + ${connections[service].surge}) × ${connections[service].replica} + ${migratorConnections}`,
      ],
    ),
    ['GB of identity after a year', gigabytes('identity'), stored],
    [
      '… of these the audit trail',
      gigabytes('identity', ['audit_events']),
      'the same, only `audit_events` (`AUDIT_RETENTION_DAYS`)',
    ],
    ['GB of issues after a year', gigabytes('issues'), stored],
    ['… of these the history', gigabytes('issues', ['activity']), 'the same, only `activity`'],
  ];
  return table(
    ['daily users', ...sizes.map((users) => users.toLocaleString('en')), 'formula'],
    lines.map(([title, figure, formula]) => [title, ...sizes.map(figure), formula]),
  );
}

function limitsTable(results: Measurements): string {
  return table(
    ['limit', 'daily users', 'then'],
    limitsOf(results).map(({ title, users, remedy }) => [title, twoDigits(users), remedy]),
  );
}

function sharedLimitsTable(results: Measurements): string {
  return table(
    ['limit of one server', 'daily users'],
    sharedLimitsOf(results).map(({ title, users }) => [title, twoDigits(users)]),
  );
}

function proofsTable(proofs: readonly Proof[]): string {
  return table(
    ['figure', 'unit', 'table', 'measured', 'ratio', 'within a third'],
    proofs.map((proof) => [
      proof.claim,
      proof.unit,
      round(proof.table),
      round(proof.measured),
      (proof.measured / proof.table).toFixed(2),
      isShown(proof) ? 'yes' : '**no**',
    ]),
  );
}

const percent = (share: number) => `${Math.round(share * 100)} %`;

// More digits would claim more than the assumptions allow.
const twoDigits = (value: number) => Number(value.toPrecision(2)).toLocaleString('en');
