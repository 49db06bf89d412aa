import { execFile } from 'node:child_process';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { hostname, tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';

const command = fileURLToPath(new URL('../src/bench.ts', import.meta.url));
const checkout = fileURLToPath(new URL('../../../..', import.meta.url));
const folder = mkdtempSync(join(tmpdir(), 'bench-test-'));
afterAll(() => rmSync(folder, { recursive: true }));

function bench(...args: string[]): Promise<{ code: number; stdout: string; stderr: string }> {
  const node = ['--import', 'tsx', '--conditions=@tessera/source', command, ...args];
  const cwd = fileURLToPath(new URL('..', import.meta.url));
  return new Promise((resolve) => {
    execFile(process.execPath, node, { cwd }, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

describe('pnpm bench', () => {
  it('exits with 2 and lists the rows when an option is invalid', async () => {
    const { code, stderr } = await bench('--only', 'nonsense');
    expect(code).toBe(2);
    expect(stderr).toContain('there is no row "nonsense"');
    expect(stderr).toContain('login-storm');
  });

  it('measures the built services beside another checkout and the references, and writes a report', async () => {
    const json = join(folder, 'bench.json');
    const { code, stdout, stderr } = await bench(
      ...['--only', 'jwks,list-issues,footprint'],
      ...[
        '--rounds',
        '1',
        '--seconds',
        '0.5',
        '--footprint-requests',
        '200',
        '--json',
        json,
        '--no-build',
        '--no-redmine',
      ],
      ...['--against', checkout],
    );
    expect({ code, stderr }).toMatchObject({ code: 0, stderr: expect.stringContaining('round 1 of 1') });
    const text = readFileSync(json, 'utf8');
    const { rows, failures, machine, footprint } = JSON.parse(text);
    expect(failures).toEqual([]);
    expect(machine).toMatchObject({ cores: expect.any(Number), postgres: expect.stringMatching(/^\d+/) });
    if (existsSync('/proc/stat')) expect(machine.otherLoadPercent).toBeGreaterThanOrEqual(0);
    expect(rows.map(({ name }: { name: string }) => name)).toEqual(['jwks', 'list-issues']);
    for (const { contenders, verdicts } of rows) {
      expect(contenders.length).toBeGreaterThan(2);
      expect(contenders[1].name).toBe('Tessera before');
      expect(verdicts[0]).toMatchObject({ goal: { of: 'Tessera before' }, value: expect.any(Number) });
      for (const contender of contenders) {
        expect(contender).toMatchObject({ perSecond: expect.any(Number), cpuMicros: expect.any(Number) });
        expect(contender.perSecond).toBeGreaterThan(0);
        expect(contender.p99Ms).toBeGreaterThanOrEqual(contender.p50Ms);
      }
    }
    expect(footprint.services).toEqual(
      ['identity', 'issues'].map((service) => expect.objectContaining({ service, requests: 200 })),
    );
    expect(stdout).toContain('| bare Express + pg');
    // The report is published, so it must not identify the machine.
    expect(text).not.toContain(hostname());
    expect(text).not.toContain(folder);
    expect(text).not.toContain(checkout);
    expect(text).not.toContain('postgresql://');
  }, 600_000);
});
