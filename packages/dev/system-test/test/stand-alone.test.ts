import { execFile } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readCodeBlocks, shellBlock } from '@tessera/delivery/code-blocks';
import { visitWebApp } from '@tessera/delivery/web-app';
import { httpClient, testPooler } from '@tessera/stack';
import {
  type BreakablePostgres,
  findFreePort,
  PgBouncer,
  startBreakablePostgres,
  withDatabase,
  withRole,
} from '@tessera/stack/postgres';
import { decodeJwt } from 'jose';
import pg from 'pg';
import { Shell } from './support/shell.ts';

type Service = 'identity' | 'issues';

// The oldest supported release, as Debian 12 installs it (`apt-get install postgresql-15`). Without it, that of npm is used.
const oldest = '/usr/lib/postgresql/15';
const isOldest = existsSync(join(oldest, 'bin/postgres'));

// The roles that the recipes create.
const roleOf = (name: 'identity' | 'issues') => ({ role: name, password: 'secret' });

// The recipes in the READMEs. Only the ports and the folder of secrets are replaced; with TEST_POOLER, also the address of
// PostgreSQL, and the variables are added that a pooler needs.
describe('a service on its own, by the recipe in its README', () => {
  let postgres: BreakablePostgres;
  let pgBouncer: PgBouncer | undefined;
  let secrets: string;
  let ports: Record<'identity' | 'issues', number>;
  const services: Partial<Record<Service, Shell>> = {};
  const shells: Shell[] = [];

  beforeAll(async () => {
    // A separate server, because the recipes create roles with fixed names.
    postgres = await startBreakablePostgres(isOldest ? oldest : undefined);
    const roles = [roleOf('identity'), roleOf('issues')];
    if (testPooler() !== 'off') pgBouncer = await PgBouncer.start(postgres.adminUrl, roles);
    secrets = mkdtempSync(join(tmpdir(), 'tessera-secrets-'));
    ports = { identity: await findFreePort(), issues: await findFreePort() };
  });

  afterAll(async () => {
    for (const shell of [...shells, ...Object.values(services)]) await shell.interrupt();
    await pgBouncer?.stop();
    await postgres.stop();
    rmSync(secrets, { recursive: true });
  });

  let token: string;

  const issuesApi = () =>
    httpClient(`http://localhost:${ports.issues}/api/v1`, { headers: { Authorization: `Bearer ${token}` } });

  const recipes = {
    identity: shellBlock('apps/identity/README.md', 'Running it', 0),
    issues: shellBlock('apps/issues/README.md', 'Running it', 0),
  };
  const serviceToken = () => readFileSync(join(secrets, 'service-token'), 'utf8').trim();

  /** Replaces the ports, the address of PostgreSQL and the folder of secrets. */
  const here = (text: string) =>
    text
      .replaceAll('$HOME/tessera-secrets', secrets)
      .replaceAll('localhost:5432', new URL(pgBouncer?.urlOf(postgres.adminUrl) ?? postgres.adminUrl).host)
      .replaceAll('localhost:3001', `localhost:${ports.identity}`)
      .replaceAll(/(localhost:|PORT=)3002/g, `$1${ports.issues}`);

  async function createDatabase(name: string): Promise<void> {
    const client = new pg.Client(postgres.adminUrl);
    await client.connect();
    const sql = readCodeBlocks(`apps/${name}/README.md`)
      .filter(({ heading, language }) => heading === 'Running it' && language === 'sql')
      .map(({ text }) => text);
    for (const statement of sql.join('\n').split(';\n')) {
      if (statement !== '') await client.query(statement);
    }
    await client.end();
  }

  async function paste(name: Service, recipe = recipes[name]): Promise<Shell> {
    const pooled = {
      DATABASE_POOLER: testPooler(),
      MIGRATION_DATABASE_URL: withRole(withDatabase(postgres.adminUrl, name), roleOf(name)),
    };
    const shell = new Shell(here(recipe), {
      PORT: String(ports[name]),
      SHUTDOWN_DELAY_MS: '0',
      ...(pgBouncer === undefined ? {} : pooled),
    });
    services[name] = shell;
    await shell.waitFor(async () => {
      const answer = await fetch(`http://localhost:${ports[name]}/readyz`).catch(() => undefined);
      return answer?.ok ?? false;
    });
    return shell;
  }

  it('runs identity, with a first key and a service token', async () => {
    await createDatabase('identity');
    const shell = await paste('identity');
    expect(shell.output).toContain('identity: applied ');
    expect(readdirSync(join(secrets, 'keys')).sort()).toEqual(['identity-key-1.pem', 'keys.json']);
  });

  it('runs identity again with the same key and service token', async () => {
    const token = readFileSync(join(secrets, 'service-token'), 'utf8');
    await services.identity?.interrupt();
    const shell = await paste('identity');
    expect(shell.output).toContain('identity: no migration to apply');
    expect(readdirSync(join(secrets, 'keys')).sort()).toEqual(['identity-key-1.pem', 'keys.json']);
    expect(readFileSync(join(secrets, 'service-token'), 'utf8')).toBe(token);
  });

  it('runs issues, which accepts the tokens of identity', async () => {
    await createDatabase('issues');
    await paste('issues');
    const identity = httpClient(`http://localhost:${ports.identity}`);
    const ada = { email: 'ada@example.com', password: 'correct horse battery staple' };
    const headers = { 'X-Service-Token': serviceToken() };
    expect((await identity.post('/internal/identities', ada, { headers })).status).toBe(201);
    const { data } = await identity.post('/token', { grant_type: 'password', ...ada });
    token = data.access_token;
    const created = await issuesApi().post('/issues/', { title: 'The printer is on fire' });
    expect([created.status, created.headers.location]).toEqual([
      201,
      expect.stringContaining(`http://localhost:${ports.issues}/api/v1/issues/`),
    ]);
  });

  it('serves the web app, which signs people in', async () => {
    const [identityUrl, issuesUrl] = [
      `http://localhost:${ports.identity}`,
      `http://localhost:${ports.issues}`,
    ];
    await visitWebApp({ identityUrl, issuesUrl, origin: issuesUrl, serviceToken: serviceToken() });
  });

  it('has the administrator that the block creates, once, as that in docker/README.md', async () => {
    const recipe = shellBlock('apps/issues/README.md', 'Running it', 1);
    const compose = shellBlock('docker/README.md', 'Images and compose', 2);
    expect(recipe.replace('"$HOME/tessera-secrets/service-token"', '.data/service-token')).toBe(compose);
    const block = here(recipe);
    const create = async () => (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', block])).stdout;
    const [, email, password] = /^(admin@\S+), (\S+)$/m.exec(await create()) ?? [];
    const identity = httpClient(`http://localhost:${ports.identity}`);
    const signedIn = await identity.post('/token', { grant_type: 'password', email, password });
    expect(signedIn.status).toBe(200);
    const claims = { is_verified: true, is_staff: true, is_superuser: true };
    expect(decodeJwt(signedIn.data.access_token)).toMatchObject(claims);
    await expect(create()).rejects.toMatchObject({
      stdout: expect.not.stringContaining('admin@example.com, '),
    });
  });

  it('streams events of issues to curl, as its guide shows', async () => {
    const command = shellBlock('docs/issues/event-streams.md', 'Streams of events', 0)
      .replace('https://issues.example', `http://localhost:${ports.issues}`)
      .replace('ISS-42', 'ISS-1');
    const [shown = ''] = readCodeBlocks('docs/issues/event-streams.md')
      .filter(({ heading, language }) => heading === 'Streams of events' && language === 'text')
      .map(({ text }) => text);
    // In a terminal, curl shows no progress.
    writeFileSync(join(secrets, '.curlrc'), 'silent\nshow-error\n');
    const shell = new Shell(command, { TOKEN: token, CURL_HOME: secrets });
    shells.push(shell);
    await shell.waitFor(() => shell.output.includes('id: '));
    const status = { status: 'IN_PROGRESS' };
    expect((await issuesApi().post('/issues/ISS-1/status/', status)).status).toBe(200);
    await shell.waitFor(() => /^data: .*\n\n/m.test(shell.output));
    // Without values that differ.
    const linesOf = (text: string) =>
      text
        .trim()
        .replaceAll(/^id: .+$/gm, 'id: …')
        .replaceAll(/(?<="(id|timestamp|data)":)(\{.*\}|"[^"]*"|\d+)(?=[,}])/g, '…');
    expect(linesOf(shell.output)).toBe(linesOf(shown));
  });

  it('takes a file from curl and lists it, as the guide of files shows', async () => {
    const [upload, list] = [
      shellBlock('docs/issues/attachments.md', 'With curl', 0),
      shellBlock('docs/issues/attachments.md', 'With curl', 1),
    ].map((block) =>
      block.replace('https://issues.example', `http://localhost:${ports.issues}`).replace('ISS-42', 'ISS-1'),
    );
    writeFileSync(join(secrets, 'shot.png'), 'bytes of a file');
    const run = async (command = '') => {
      const options = { cwd: secrets, env: { ...process.env, TOKEN: token } };
      return JSON.parse(
        (await promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], options)).stdout,
      );
    };
    const file = await run(upload);
    expect(file).toMatchObject({ name: 'shot.png', size: 15, media_type: 'application/octet-stream' });
    expect(await run(list)).toEqual([file]);
  });

  // Without Debian's PostgreSQL there is no pg_dump of the server's version; programs in its place show the order of the steps.
  async function postgresTools(): Promise<string> {
    if (isOldest) return join(oldest, 'bin');
    const folder = join(secrets, 'bin');
    mkdirSync(folder, { recursive: true });
    const programs = { pg_dump: 'echo a dump', pg_restore: 'echo "SELECT 1;"', psql: 'cat > /dev/null' };
    for (const [name, line] of Object.entries(programs))
      writeFileSync(join(folder, name), `#!/bin/sh\n${line}\n`, { mode: 0o755 });
    return folder;
  }

  /** Pastes blocks of the runbooks into a terminal, and restarts a service when they ask for it. */
  async function operate(...blocks: string[]): Promise<string> {
    const functions = shellBlock('docs/operations/runbooks.md', 'Functions for stand-alone services', 0);
    const shell = new Shell(here([functions, ...blocks].join('\n')), {
      PATH: `${await postgresTools()}:${process.env.PATH}`,
    });
    shells.push(shell);
    let isOver = false;
    const ended = shell.ended.finally(() => {
      isOver = true;
    });
    for (let done = 0; !isOver; ) {
      const request = [...shell.output.matchAll(/^(Stop|Start) (identity|issues): /gm)][done];
      if (request === undefined) {
        await new Promise((resolve) => setTimeout(resolve, 50));
        continue;
      }
      done += 1;
      const name = request[2] as Service;
      if (request[1] === 'Stop') await services[name]?.interrupt();
      // The build, which takes most of the time, is up to date.
      else await paste(name, recipes[name].replace(/^npx .*\n/, ''));
    }
    expect({ code: await ended, output: shell.output }).toEqual({ code: 0, output: expect.any(String) });
    return shell.output;
  }

  const listsIdentities = async (value: string) => {
    const headers = { 'X-Service-Token': value };
    return (await fetch(`http://localhost:${ports.identity}/internal/identities`, { headers })).status;
  };

  it('rotates the service token and the session keys by the runbooks', async () => {
    const old = serviceToken();
    await operate(shellBlock('docs/operations/rotate.md', 'Rotate the service token', 0));
    expect([await listsIdentities(old), await listsIdentities(serviceToken())]).toEqual([200, 200]);
    await operate(
      shellBlock('docs/operations/rotate.md', 'Rotate the service token', 1),
      shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 0),
    );
    expect([await listsIdentities(old), await listsIdentities(serviceToken())]).toEqual([403, 200]);
    expect(readFileSync(join(secrets, 'session-keys'), 'utf8').split(',')).toHaveLength(2);
    expect((await issuesApi().get('/issues/ISS-1/')).status).toBe(200);
  });

  it('replaces a leaked key and restores a backup by the runbooks', async () => {
    const folder = `mkdir -p ${secrets}/backups; pushd ${secrets}/backups`;
    const output = await operate(
      shellBlock('docs/operations/rotate.md', 'A key has leaked', 0),
      folder,
      shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 0),
      shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 1),
      ...(isOldest ? ['psql --quiet "$(database identity)" --command "CREATE TABLE newer (id int)"'] : []),
      shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 2).replace(
        'SERVICE=',
        'SERVICE=identity',
      ),
      shellBlock('docs/operations/backup.md', 'Lost secrets', 0),
      ...(isOldest
        ? ['psql "$(database identity)" --command "SELECT to_regclass(\'newer\') IS NULL AS restored"']
        : []),
    );
    expect(output).toContain(isOldest ? 'restored \n----------\n t' : 'Start identity');
    expect(output).toMatch(/identity-key-1: accepted\n.*identity-key-1: refused\n/s);
    expect((await issuesApi().get('/issues/ISS-1/')).status).toBe(401);
    expect(readdirSync(join(secrets, 'keys')).sort()).toEqual(['identity-key-2.pem', 'keys.json']);
    const files = readdirSync(join(secrets, 'backups'));
    expect(files).toEqual([
      expect.stringMatching(/^identity-.*\.dump$/),
      expect.stringMatching(/^secrets-.*\.tar$/),
    ]);
    expect(await listsIdentities(serviceToken())).toBe(200);
  });

  it('is upgraded by the runbook', async () => {
    const output = await operate(shellBlock('docs/operations/upgrade.md', 'With compose and stand-alone', 0));
    expect(output).toMatch(/identity: no migration to apply\n.*issues: no migration to apply\n/s);
    expect(await listsIdentities(serviceToken())).toBe(200);
  });
});
