import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { BenchReport } from '../src/report/bench-report.ts';
import { markdown, round, table } from '../src/report/markdown.ts';
import { benchmarkPage, withSection } from '../src/report/write-report.ts';

const results = readFileSync(new URL('../results/latest.md', import.meta.url), 'utf8');

const contender = {
  perSecond: 1234.5,
  perSecondByRound: [1234.5],
  p50Ms: 0.4,
  p99Ms: 12,
  cpuMicros: 250,
  databaseCpuMicros: undefined,
  extras: {},
};
const report: BenchReport = {
  date: '2026-11-21T10:00:00.000Z',
  machine: {
    ...{ cpu: 'A CPU', cores: 2, node: '20.20.2', postgres: '18.4', before: undefined },
    ...{ loadBefore: 0.1, otherLoadPercent: 3.14 },
  },
  options: {
    ...{ only: undefined, rounds: 5, rows: 1000, seconds: 3, json: undefined },
    ...{
      footprintRequests: 1000,
      node: undefined,
      against: undefined,
      build: true,
      redmine: true,
      peers: true,
      cores: 2,
    },
  },
  rows: [
    {
      name: 'row',
      title: 'A row',
      contenders: [
        { ...contender, name: 'Tessera', extras: { 'JWKS p99 ms': 31 } },
        { ...contender, name: 'a peer' },
        { ...contender, name: 'a limit' },
      ],
      verdicts: [
        { goal: { kind: 'ratio', of: 'a peer', atLeast: 2 }, value: 2.5, isMet: true },
        { goal: { kind: 'bound', measure: 'JWKS p99 ms', atMost: 30 }, value: 31, isMet: false },
        {
          goal: { kind: 'ratio', of: 'a limit', atLeast: 2, outOfReach: 'a reason' },
          value: 1,
          isMet: false,
        },
      ],
      absent: [{ name: 'Redmine', reason: 'needs root' }],
    },
  ],
  failures: [{ name: 'list-issues', problem: 'GET /issues: status 500 instead of 200' }],
  footprint: {
    services: [{ service: 'identity', readyMs: 600, rssAtStart: 90, rssAfter: 150, requests: 1000 }],
    images: [{ service: 'identity', megabytes: 43, isMeasured: false }],
  },
};

describe('the report', () => {
  const lines = markdown(report).split('\n');
  const lineOf = (text: string) => lines.find((line) => line.includes(text)) ?? '';

  it('shows a ratio and its goal in the line of the reference', () => {
    expect(lineOf('a peer')).toMatch(/1,235 .* 0\.40 .* 12\.0 .* 250 .* 2\.50 × .* ≥ 2 met/);
    expect(lineOf('A row')).not.toMatch(/met/);
    expect(lineOf('JWKS p99')).toMatch(/31\.0 .* ≤ 30 missed/);
    expect(lineOf('a limit')).toMatch(/1\.00 × .* ≥ 2 out of reach/);
  });

  it('names absent contenders, failures and sizes that were not measured', () => {
    expect(lineOf('Left out')).toBe('Left out: Redmine (needs root).');
    expect(lineOf('list-issues')).toContain('status 500 instead of 200');
    expect(lineOf('43')).toContain('base + 43 (not measured here)');
  });

  it('shows the load of other processes, if it is known', () => {
    expect(lines[0]).toContain(' · other load on the machine: 3.1 % · ');
    const machine = { ...report.machine, otherLoadPercent: undefined };
    expect(markdown({ ...report, machine })).not.toContain('other load');
  });

  it('names the commit of the services of --against', () => {
    const machine = { ...report.machine, before: '0123456789ab' };
    expect(markdown({ ...report, machine })).toContain(' · Tessera before: 0123456789ab · ');
    expect(lines[0]).not.toContain('Tessera before');
  });

  it('counts the goals, including that of the start', () => {
    expect(lines).toContain('2 of 3 goals met; out of reach on this machine: 1.');
  });

  it('pads the columns of a table', () => {
    const text = table(
      ['who', 'a second'],
      [
        ['one', '5'],
        ['another one', '12,345'],
      ],
    );
    expect(text.split('\n')).toEqual([
      '| who         | a second |',
      '| ----------- | -------: |',
      '| one         |        5 |',
      '| another one |   12,345 |',
    ]);
  });

  it('formats numbers with three digits, small ones too', () => {
    expect([0, 0.0012, 0.345, 1.2345, 12.345, 1234.5].map(round)).toEqual([
      ...['0.00', '0.0012', '0.34', '1.23', '12.3', '1,235'],
    ]);
  });
});

describe('the table of docs/reference/benchmark.md', () => {
  it('is replaced, and nothing else changes', () => {
    const page = 'Before\n<!-- bench -->\n\nold\n\n<!-- /bench -->\nafter';
    const filled = withSection(page, 'bench', 'new\n');
    expect(filled).toBe('Before\n<!-- bench -->\n\nnew\n\n<!-- /bench -->\nafter');
    expect(withSection(filled, 'bench', 'new')).toBe(filled);
  });

  it.each(['nothing', '<!-- bench -->', '<!-- /bench --><!-- bench -->'])('must exist: %s', (page) => {
    expect(() => withSection(page, 'bench', 'new')).toThrow('<!-- bench -->');
  });

  it('is that of the published results', () => {
    const page = readFileSync(benchmarkPage, 'utf8');
    expect(withSection(page, 'bench', results)).toBe(page);
  });
});

it('the README shows figures of the published results', () => {
  const readme = readFileSync(new URL('../../../../README.md', import.meta.url), 'utf8');
  const [, section = ''] = /^## How fast\n(.*?)^## /ms.exec(readme) ?? [];
  const figures = section.match(/\d[\d,.]*(?: ×)?(?= \||$)|[\d.]+ ×|\d+ of \d+ goals/gm) ?? [];
  expect(figures.length).toBeGreaterThanOrEqual(3);
  expect(figures.filter((figure) => !results.includes(figure))).toEqual([]);
});
