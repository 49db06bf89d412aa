import { execFileSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { takeTour } from '@tessera/delivery/tour';
import { findFreePort } from '@tessera/stack/postgres';
import { Shell } from './support/shell.ts';

describe('npx pnpm@12 start', () => {
  let data: string;
  let start: Shell;
  let urls: { identityUrl: string; issuesUrl: string };

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'tessera-tour-'));
    // PostgreSQL may run as another user, which must reach its own folder.
    chmodSync(data, 0o755);
    const [identity, issues] = [await findFreePort(), await findFreePort()];
    urls = { identityUrl: `http://localhost:${identity}`, issuesUrl: `http://localhost:${issues}` };
    start = new Shell('npx --yes pnpm@12 start\n', {
      IDENTITY_PORT: String(identity),
      ISSUES_PORT: String(issues),
      TESSERA_DATA_DIR: data,
    });
    await start.waitFor(() => start.output.includes('Tessera is running'));
  }, 300_000);

  afterAll(async () => {
    await start.interrupt();
    const location = join(data, 'postgres.location');
    if (existsSync(location)) rmSync(readFileSync(location, 'utf8').trim(), { recursive: true, force: true });
    rmSync(data, { recursive: true });
  }, 60_000);

  it("serves the README's tour, twice", async () => {
    const serviceToken = readFileSync(join(data, 'service-token'), 'utf8');
    for (let paste = 1; paste <= 2; paste += 1) {
      expect(await takeTour({ ...urls, serviceToken })).not.toContain('"code"');
    }
  }, 60_000);

  it('prints a tour that can be pasted twice', () => {
    const [, tour = ''] = start.output.split('A tour, to paste into another terminal:');
    for (let paste = 1; paste <= 2; paste += 1) {
      const output = execFileSync('bash', ['-euo', 'pipefail', '-s'], { input: tour, encoding: 'utf8' });
      for (const part of ['"email":"ada-', '"token_type":"Bearer"', '"alg":"RS256"', '\nIN_PROGRESS\n'])
        expect(output).toContain(part);
      expect(output).not.toContain('"code"');
    }
  }, 60_000);

  it('stops on Ctrl-C', async () => {
    await start.interrupt();
    expect(start.output).toContain('Stopped.');
    await expect(fetch(`${urls.identityUrl}/healthz`)).rejects.toThrow();
  }, 60_000);
});
