import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { readManifests } from '../src/manifest.ts';
import { readRepositoryFile } from '../src/repository.ts';
import { FakePrograms } from './support/fake-programs.ts';

const scriptsSchema = z.object({ data: z.record(z.string(), z.string()) });
const [configMap] = readManifests(readRepositoryFile('k8s/components/backup/scripts.yaml'));
const scripts = scriptsSchema.parse(configMap).data;

// prove:kubernetes runs both scripts against PostgreSQL; here they meet its failures.
let programs: FakePrograms;
beforeEach(() => {
  programs = new FakePrograms();
  for (const folder of ['secrets', 'backups']) mkdirSync(join(programs.folder, folder));
  writeFileSync(join(programs.folder, 'secrets/migration-database-url'), 'postgresql://owner@db/identity');
  programs.add('pg_dump', 'echo half > "$6"');
  programs.add('pg_restore', 'echo "CREATE TABLE restored ();"');
  // Answers the query for connections, and stores the statements of a restore.
  programs.add('psql', `case "$*" in *--command*) echo 0 ;; *) cat > ${programs.folder}/statements ;; esac`);
});
afterEach(() => programs.remove());

function run(script: string, more: Record<string, string> = {}): Promise<string> {
  const [SECRETS, BACKUPS] = ['secrets', 'backups'].map((name) => join(programs.folder, name));
  const variables = { SERVICE: 'identity', KEEP_DAYS: '14', SECRETS: `${SECRETS}`, BACKUPS: `${BACKUPS}` };
  return programs.run(scripts[script] ?? '', { ...variables, ...more });
}
const addBackup = (name: string) => writeFileSync(join(programs.folder, 'backups', name), 'a dump');
const listBackups = () => readdirSync(join(programs.folder, 'backups'));

describe('a backup', () => {
  it('prints all files of the service, the newest last', async () => {
    for (const name of ['identity-20200101T000000Z.dump', 'issues-20200101T000000Z.dump']) addBackup(name);
    const files = (await run('backup.sh')).trimEnd().split('\n');
    expect(files).toEqual([
      expect.stringMatching(/\/identity-20200101T000000Z\.dump$/),
      expect.stringMatching(/\/identity-20\d{6}T\d{6}Z\.dump$/),
    ]);
  });

  it.each([
    ['pg_dump', 'echo half > "$6"; exit 1'],
    ['pg_restore', 'exit 1'],
  ])('leaves no part of a file if %s fails', async (program, line) => {
    programs.add(program, line);
    await expect(run('backup.sh')).rejects.toThrow();
    expect(listBackups()).toEqual([]);
  });
});

describe('a restore', () => {
  beforeEach(() => {
    for (const day of [1, 2]) addBackup(`identity-2020010${day}T000000Z.dump`);
  });

  it.each([
    ['the newest file', '', 'identity-20200102T000000Z.dump'],
    ['a named file', 'identity-20200101T000000Z.dump', 'identity-20200101T000000Z.dump'],
  ])('restores %s in one transaction', async (_name, named, restored) => {
    const file = (name: string) => join(programs.folder, 'backups', name);
    const output = await run('restore.sh', { BACKUP_FILE: named && file(named) });
    expect(output).toBe(`restored ${file(restored)}\n`);
    expect(programs.read('statements')).toMatch(/^BEGIN; DROP SCHEMA .*CREATE TABLE restored.*\nCOMMIT;\n$/s);
  });

  it('lists the files if there is none with the name', async () => {
    const refused = run('restore.sh', { BACKUP_FILE: '/backups/x.dump' });
    await expect(refused).rejects.toThrow(
      /There is no backup \/backups\/x\.dump\. The backups:\n.*20200101.*\n.*20200102/,
    );
    expect(programs.calls).toEqual([]);
  });

  it('ends if PostgreSQL refuses the connection', async () => {
    programs.add('psql', 'echo "password authentication failed" >&2; exit 2');
    await expect(run('restore.sh')).rejects.toThrow('password authentication failed');
  });

  it('ends without a change if the service keeps its connections', async () => {
    programs.add(
      'psql',
      `case "$*" in *--command*) echo 3 ;; *) cat > ${programs.folder}/statements ;; esac`,
    );
    await expect(run('restore.sh', { WAIT_SECONDS: '0' })).rejects.toThrow(
      'identity still has 3 connections: stop it first.',
    );
    expect(() => programs.read('statements')).toThrow('ENOENT');
  });

  it('ends at once when its pod is deleted while it waits', async () => {
    programs.add('psql', 'echo 1; kill -TERM $PPID');
    await expect(run('restore.sh')).rejects.toThrow('ended with 143');
  });

  it('commits nothing if the file cannot be read', async () => {
    programs.add('pg_restore', 'echo "CREATE TABLE half ();"; exit 1');
    await expect(run('restore.sh')).rejects.toThrow();
    expect(programs.read('statements')).not.toContain('COMMIT');
  });
});
