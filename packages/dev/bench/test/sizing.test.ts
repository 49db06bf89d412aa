import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import { withSection } from '../src/report/write-report.ts';
import { limitsOf, sharedLimitsOf } from '../src/sizing/limits.ts';
import { type Cost, isShown, type SizingResults } from '../src/sizing/measurements.ts';
import {
  bytesOf,
  coresOf,
  gigabytesOf,
  messagesOf,
  ratesOf,
  replicasFor,
  usersAt,
} from '../src/sizing/model.ts';
import { asPrinted } from '../src/sizing/printed.ts';
import { keptDays, type OperationName, operationNames, pauseSeconds } from '../src/sizing/profile.ts';
import { sizingSection } from '../src/sizing/sizing-report.ts';
import { growthOf, type TableSizes } from '../src/sizing/table-sizes.ts';

const read = (path: string) => readFileSync(new URL(`../../../../${path}`, import.meta.url), 'utf8');

const nothing: TableSizes = { identity: {}, issues: {} };
const cost = (bytes: TableSizes = nothing): Cost => ({ serviceMicros: 100, databaseMicros: 50, bytes });
const costs = {
  ...(Object.fromEntries(operationNames.map((name) => [name, cost()])) as Record<OperationName, Cost>),
  refresh: cost({ ...nothing, identity: { refresh_tokens: 300, audit_events: 300 } }),
  create: cost({ ...nothing, issues: { issues: 600, events: 300 } }),
};
const results: SizingResults = {
  date: '2026-11-23T10:00:00.000Z',
  machine: {
    ...{ cpu: 'A CPU', cores: 2, node: '20.20.2', postgres: '18.4', before: undefined },
    ...{ loadBefore: 0.1, otherLoadPercent: 3.14 },
  },
  costs,
  messageMicros: 10,
  mixUsers: { identity: 50_000, issues: 4_000 },
  mixSeconds: 60,
  proofs: [
    { claim: 'a session', unit: 'bytes', table: 900, measured: 1_190 },
    { claim: 'an issue', unit: 'bytes', table: 900, measured: 590 },
  ],
};

describe('the model of the sizing table', () => {
  it('spreads a fifth of the requests of a day over an hour', () => {
    // 0.5 + 1.5 + 1 writes a user.
    const { create, comment, status, refresh } = ratesOf(12_000);
    expect(create + comment + status).toBeCloseTo((12_000 * 3 * 0.2) / 3_600);
    expect(refresh).toBeCloseTo((12_000 * 32 * 0.2) / 3_600);
  });

  it('sends each event to each open browser, which reads the changed issues at most every two seconds', () => {
    const writes = (12_000 * 3 * 0.2) / 3_600;
    expect(messagesOf(12_000)).toBeCloseTo(3_600 * writes);
    expect(ratesOf(12_000).live).toBeCloseTo((3_600 * writes) / (1 + pauseSeconds * writes));
    expect(read('apps/issues/web/src/live/live-updates.ts')).toContain('const pauseMs = 2_000;');
    expect(pauseSeconds).toBe(2);
  });

  it('adds more for a read of many changed issues, up to the cost of a list', () => {
    const list = { ...costs.list, serviceMicros: 590 };
    const coresOfLive = (users: number) =>
      coresOf(users, { ...results, messageMicros: 0, costs: { ...costs, list } }).live;
    const readsOf = (users: number) => ratesOf(users).live * 1e-6;
    // 1 + 2 × 1.67 changed issues, then 1 + 2 × 1,667.
    expect(coresOfLive(10_000)).toBeCloseTo(readsOf(10_000) * (100 + (490 * (10 / 3)) / 49));
    expect(coresOfLive(10_000_000)).toBeCloseTo(readsOf(10_000_000) * 590, 0);
  });

  it('adds the costs of all requests', () => {
    const rates = ratesOf(1_000);
    const identity = rates['sign-in'] + rates.refresh + rates.userinfo;
    const issues = rates.list + rates.get + rates.live + rates.create + rates.comment + rates.status;
    const cores = coresOf(1_000, results);
    expect(cores.identity).toBeCloseTo(identity * 100e-6);
    expect(cores.issues).toBeCloseTo(issues * 100e-6 + messagesOf(1_000) * 10e-6);
    expect(cores.postgres.identity).toBeCloseTo(identity * 50e-6);
    expect(cores.postgres.issues).toBeCloseTo(issues * 50e-6);
  });

  it('leaves half of the processor time of at least two replicas free', () => {
    expect([0.1, 1, 1.2].map(replicasFor)).toEqual([2, 2, 3]);
  });

  it('keeps the rows of a year at most, and those of shorter retentions for that time', () => {
    // 400 bytes with spare for each 300.
    expect(gigabytesOf(1_000, results, 'identity', ['audit_events'])).toBeCloseTo(
      (32 * 365 * 400 * 1_000) / 1e9,
    );
    expect(gigabytesOf(1_000, results, 'identity', ['refresh_tokens'])).toBeCloseTo(
      (32 * 21 * 400 * 1_000) / 1e9,
    );
    expect(gigabytesOf(1_000, results, 'issues')).toBeCloseTo((0.5 * (365 * 800 + 7 * 400) * 1_000) / 1e9);
    expect(bytesOf(results, 'create')).toBeCloseTo(1_200);
  });

  it('finds the number of users of a limit', () => {
    expect(usersAt((users) => users * users, 1_000_000) / 1_000).toBeCloseTo(1, 2);
  });
});

describe('the growth of tables', () => {
  const before: TableSizes = {
    identity: { events: 8_192 },
    issues: { issues: 0, comments: 0, rate_limits: 0 },
  };

  it('is counted for each request, without pages that are not full and tables that do not grow with requests', () => {
    const issues = { issues: 819_200, comments: 8_192, rate_limits: 819_200 };
    const after = { identity: { events: 8_192 }, issues };
    expect(growthOf(before, after, 100)).toEqual({ identity: {}, issues: { issues: 8_192 } });
  });

  it('is refused for a table whose retention is unknown', () => {
    const after = { ...before, issues: { ...before.issues, attachments: 819_200 } };
    expect(() => growthOf(before, after, 100)).toThrow('issues.attachments grows');
  });

  it.each(['identity', 'issues'] as const)('has the tables and retentions of %s', (service) => {
    const schema = read(`apps/${service}/prisma/schema.prisma`);
    for (const table of Object.keys(keptDays[service])) expect(schema).toContain(`@@map("${table}")`);
    const days = keptDays[service];
    const settings = read('docs/reference/environment.md');
    const defaultOf = (name: string) => new RegExp(`\\| \`${name}\` +\\| \`(\\d+)\` `).exec(settings)?.[1];
    expect(defaultOf('EVENTS_RETENTION_DAYS')).toBe(String(days.events));
    if (service === 'issues') return;
    expect(defaultOf('AUDIT_RETENTION_DAYS')).toBe(String(days.audit_events));
    // The cleanup job keeps expired ones for a week.
    const lifetime = (name: string) => Number(defaultOf(name)) / 86_400 + 7;
    expect(lifetime('REFRESH_TOKEN_IDLE_TTL_SECONDS')).toBe(days.refresh_tokens);
    expect(lifetime('REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS')).toBe(days.token_families);
  });
});

describe('the sizing section', () => {
  const section = sizingSection(results);

  it('has a line for each figure, with three sizes and a formula', () => {
    const lines = section.split('\n');
    expect(lines[0]).toContain('2026-11-23 · A CPU, 2 cores');
    expect(lines.find((line) => line.startsWith('| daily users'))).toMatch(
      /\| +1,000 \| +10,000 \| +100,000 \| formula/,
    );
    for (const title of ['sign-ins', 'refreshes', 'reads', 'writes']) {
      expect(lines.find((line) => line.startsWith(`| ${title} a second`))).toMatch(/× users × 0\.2 ÷ 3,600/);
    }
    expect(lines.find((line) => line.startsWith('| connections of issues '))).toMatch(
      /\| \(replicas \+ 1\) × 13 \+ 1/,
    );
  });

  it('lists the limits in the order in which they are reached, each with a remedy', () => {
    const limits = limitsOf(results);
    expect(limits.map(({ users }) => users)).toEqual(limits.map(({ users }) => users).sort((a, b) => a - b));
    for (const { title, remedy } of limits) {
      expect(remedy).not.toBe('');
      expect(section).toContain(`| ${title} `);
    }
  });

  it('rounds the costs before it computes with them', () => {
    const exact = { serviceMicros: 1_234.5678, databaseMicros: 42.7627 };
    const bytes: TableSizes = { identity: { audit_events: 502.7581 }, issues: {} };
    const refresh = { ...exact, bytes };
    const { costs: printed, messageMicros } = asPrinted({
      messageMicros: 9.7512,
      costs: { ...costs, refresh },
    });
    expect(messageMicros).toBe(9.75);
    expect(printed.refresh).toMatchObject({ serviceMicros: 1_235, databaseMicros: 42.8 });
    // 502.7581 × 4 ÷ 3 is 670.3441.
    expect(bytesOf({ costs: printed }, 'refresh')).toBeCloseTo(670.3, 9);
    const measured = { ...results, costs: { ...costs, refresh } };
    expect(sizingSection({ ...measured, ...asPrinted(measured) })).toBe(sizingSection(measured));
    expect(sizingSection(measured)).toMatch(/\| `audit_events` +\| identity +\| 400 +\| +670\.3 \|/);
  });

  it('has lower limits of one server for both databases than of a server for each', () => {
    const separate = limitsOf(results);
    const shared = sharedLimitsOf(results);
    const usersOf = (limits: readonly { title: string; users: number }[], start: string) =>
      limits.filter(({ title }) => title.startsWith(start)).map(({ users }) => users);
    expect(shared.map(({ users }) => users)).toEqual(shared.map(({ users }) => users).sort((a, b) => a - b));
    for (const start of ['4 cores', '500 GB']) {
      expect(usersOf(shared, start)).toHaveLength(1);
      expect(usersOf(separate, start)).toHaveLength(2);
      expect(usersOf(shared, start)[0]).toBeLessThan(Math.min(...usersOf(separate, start)));
    }
    // (2 + 1) × 11 + 1 and (3 + 1) × 13 + 1; those of a fourth replica of issues do not fit.
    expect(shared.map(({ title }) => title)).toContain(
      '97 connections (replicas: 2 of identity and 3 of issues; 34 + 53)',
    );
    for (const { title } of shared) expect(section).toContain(`| ${title} `);
  });

  it('of docs/reference/sizing.md is that of the published results, whose proofs are within a third', () => {
    const published = JSON.parse(read('packages/dev/bench/results/sizing.json'));
    const readme = read('docs/reference/sizing.md');
    expect(withSection(readme, 'sizing', sizingSection(published))).toBe(readme);
    expect(published.proofs.map(isShown)).toEqual([true, true, true, true, true]);
  });

  it('shows proofs within a third of the table, and others', () => {
    expect(results.proofs.map(isShown)).toEqual([true, false]);
    expect(section).toMatch(/\| a session +\| bytes \| +900 \| +1,190 \| +1\.32 \| yes/);
    expect(section).toMatch(/\| an issue +\| bytes \| +900 \| +590 \| +0\.66 \| \*\*no\*\*/);
  });
});
