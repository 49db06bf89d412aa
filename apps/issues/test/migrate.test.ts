import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from '@jest/globals';

describe('migrate', () => {
  const migrate = (...args: string[]) =>
    spawnSync(process.execPath, ['dist/migrate.js', ...args], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { PATH: process.env.PATH },
      encoding: 'utf8',
    });

  it('prints its help without a database', () => {
    const { status, stdout, stderr } = migrate('--help');
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toContain('postgresql://issues:');
  });

  it('exits with 2 for an unknown option', () => {
    const { status, stdout, stderr } = migrate('--force');
    expect([status, stdout]).toEqual([2, '']);
    expect(stderr).toBe(`Unknown option '--force'. See "node dist/migrate.js --help".\n`);
  });
});
