import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { shellBlock } from '../src/code-blocks.ts';
import { run } from '../src/command.ts';
import { rootDir } from '../src/repository.ts';
import { FakePrograms } from './support/fake-programs.ts';

// prove:docker runs these blocks with a real engine.
let programs: FakePrograms;
let volumes: string;
beforeEach(async () => {
  programs = new FakePrograms();
  volumes = join(programs.folder, 'volumes');
  mkdirSync(join(programs.folder, 'docker'));
  copyFileSync(join(rootDir, 'docker/compose.yaml'), join(programs.folder, 'docker/compose.yaml'));
  const fake = join(import.meta.dirname, 'support/fake-docker.cjs');
  programs.add('docker', `VOLUMES='${volumes}' exec '${process.execPath}' '${fake}' "$@"`);
  // As the service "secrets" does at each `up`.
  const make = join(rootDir, 'docker/make-secrets.mjs');
  const asRoot =
    "data:text/javascript,import fs from 'node:fs'; import { syncBuiltinESMExports } from 'node:module'; fs.chownSync = () => {}; syncBuiltinESMExports()";
  await run(process.execPath, ['--import', asRoot, make, volumes], { cwd: programs.folder });
});
afterEach(() => programs.remove());

const functions = shellBlock('docs/operations/runbooks.md', 'Functions for compose', 0);
const paste = (...blocks: string[]) => programs.run([functions, ...blocks].join('\n'));
const stored = (path: string) => readFileSync(join(volumes, path), 'utf8').trim();
const calls = () => programs.read('volumes.calls').trimEnd().split('\n');
const rollOuts = () => calls().filter((call) => call.startsWith('up '));

describe('the runbooks with compose', () => {
  it('rotate the service token, in both services', async () => {
    const old = stored('identity/service-token');
    const tokens = () =>
      ['identity', 'issues'].map((name) =>
        ['service-token', 'service-token-previous'].map((file) => stored(`${name}/${file}`)),
      );
    await paste(shellBlock('docs/operations/rotate.md', 'Rotate the service token', 0));
    const next = stored('identity/service-token');
    expect(next).toMatch(/^[\w+/]{43}=$/);
    expect(tokens()).toEqual([
      [next, old],
      [next, old],
    ]);
    await paste(shellBlock('docs/operations/rotate.md', 'Rotate the service token', 1));
    expect(tokens()).toEqual([
      [next, ''],
      [next, ''],
    ]);
    expect(rollOuts()).toEqual(['up identity', 'up issues', 'up identity', 'up issues']);
  });

  it('rotate the session keys', async () => {
    const old = stored('issues/session-keys');
    await paste(shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 0));
    const [next = ''] = stored('issues/session-keys').split(',');
    expect(stored('issues/session-keys')).toBe(`${next},${old}`);
    await paste(shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 1));
    expect(stored('issues/session-keys')).toBe(next);
    expect(rollOuts()).toEqual(['up issues', 'up issues', 'up issues']);
  });

  it('end all sessions after a leak of a session key', async () => {
    await paste(
      "echo 'ISSUES_PORT=8080' > docker/.env",
      shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 2),
      'end_sessions',
    );
    const [port, time, ...others] = programs.read('docker/.env').trim().split('\n');
    expect([port, others]).toEqual(['ISSUES_PORT=8080', []]);
    const [, value = ''] = /^SESSIONS_VALID_AFTER=(.*)$/.exec(time ?? '') ?? [];
    expect(Math.abs(Date.parse(value) - Date.now())).toBeLessThan(60_000);
    expect(rollOuts()).toEqual(['up issues', 'up identity']);
    // Compose passes it on.
    const environment = "compose exec -T identity node --print 'process.env.SESSIONS_VALID_AFTER'";
    expect(await paste(`export SESSIONS_VALID_AFTER=${value}`, environment)).toBe(`${value}\n`);
  });

  it('change the keys as their owner, and read them for the steps after a leak', async () => {
    const [next = ''] = shellBlock('docs/operations/rotate.md', 'Rotate the signing key', 0).split('\n');
    const listed = await paste(`{ ${next}; keys list; } 2>&1`);
    expect(listed).toMatch(/^identity-key-1 +active .*\n^identity-key-2 +next /m);
    expect(calls()).toContain(
      `run secrets 1000:1000 dist/keys-cli.js next --directory /secrets/identity/keys`,
    );
    const { data } = JSON.parse(await paste('stored_keys'));
    expect(Object.keys(data).sort()).toEqual(['identity-key-1.pem', 'identity-key-2.pem', 'keys.json']);
    expect(Buffer.from(data['identity-key-1.pem'], 'base64').toString()).toContain('PRIVATE KEY');
    const inIssues =
      "in_issues --eval 'console.log(process.env.IDENTITY_URL, fs.readFileSync(0).length)' <<<abc";
    expect(await paste(inIssues)).toBe('http://identity:3000 4\n');
  });

  describe('back up and restore', () => {
    const backUp = shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 0);
    const secrets = shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 1);
    const restore = shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 2);
    const restoreOf = (service: string) => restore.replace('SERVICE=', `SERVICE=${service}`);
    const dumps = () => readdirSync(programs.folder).filter((file) => file.includes('.dump'));

    beforeEach(() => {
      programs.add('pg_dump', 'echo "a dump of $4"');
      programs.add('pg_restore', 'cat > /dev/null; echo "CREATE TABLE restored ();"');
      programs.add('psql', `cat > ${programs.folder}/statements`);
    });

    it.each(['identity', 'issues'])('%s, as its owner and in one transaction', async (service) => {
      const file = (await paste(backUp.replace('SERVICE=identity', `SERVICE=${service}`))).trim();
      expect(file).toMatch(new RegExp(`^${service}-\\d{8}T\\d{6}Z\\.dump$`));
      expect(programs.read(file)).toBe(`a dump of postgresql:///${service}?user=${service}_owner\n`);
      await paste(restoreOf(service));
      const statements = programs.read('statements').trim().split('\n');
      expect([statements[1]?.split(';')[0], ...statements.slice(2)]).toEqual([
        'BEGIN',
        'CREATE TABLE restored ();',
        'COMMIT;',
      ]);
      expect(calls().filter((call) => /^(stop|up|run)/.test(call))).toEqual([
        `stop ${service}`,
        `run ${service}-migrate`,
        `up ${service}`,
      ]);
      expect(existsSync(join(programs.folder, 'docker/.env'))).toBe(service === 'identity');
    });

    it('restore no database before one is named', async () => {
      await paste(backUp);
      await expect(paste(restore)).rejects.toThrow('SERVICE: identity or issues');
      expect(calls().filter((call) => /^(stop|up|run)/.test(call))).toEqual([]);
    });

    it('create one database that is lost, for its owner alone', async () => {
      const block = shellBlock('docs/operations/backup.md', 'One lost database', 0);
      programs.add('psql', `printf '%s\\n' "$@" > ${programs.folder}/arguments`);
      await paste(block.replace('SERVICE=', 'SERVICE=issues'));
      expect(programs.read('arguments')).toBe(
        [
          ...['--username', 'postgres', '--dbname', 'postgres'],
          ...['--command', 'CREATE DATABASE issues OWNER issues_owner'],
          ...['--command', 'REVOKE ALL ON DATABASE issues FROM PUBLIC\n'],
        ].join('\n'),
      );
    });

    it('leave no part of a dump that fails', async () => {
      programs.add('pg_dump', 'echo half; exit 1');
      await expect(paste(backUp)).rejects.toThrow();
      expect(dumps()).toEqual([]);
    });

    it('roll the restore back and leave the service stopped if the dump is broken', async () => {
      await paste(backUp);
      programs.add('pg_restore', 'echo "CREATE TABLE half ();"; exit 1');
      await expect(paste(restoreOf('identity'))).rejects.toThrow();
      expect(programs.read('statements')).not.toContain('COMMIT');
      expect(rollOuts()).toEqual([]);
    });

    it('the secrets, which only their owner may read', async () => {
      await paste(secrets);
      const [file = ''] = readdirSync(programs.folder).filter((name) => name.endsWith('.tar'));
      const list = await run('tar', ['--list', '--file', file], { cwd: programs.folder });
      expect(list).toContain('service-token');
      expect(await run('stat', ['--format=%a', file], { cwd: programs.folder })).toBe('600\n');
      const token = stored('identity/service-token');
      rmSync(volumes, { recursive: true });
      mkdirSync(volumes);
      await paste(shellBlock('docs/operations/backup.md', 'Lost secrets', 0));
      expect(stored('identity/service-token')).toBe(token);
      expect(stored('identity/keys/identity-key-1.pem')).toContain('PRIVATE KEY');
    });
  });
});
