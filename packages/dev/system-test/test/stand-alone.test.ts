import { execFile } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readCodeBlocks, shellBlock } from '@tessera/delivery/code-blocks';
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

// The roles that the recipes create.
const roleOf = (name: 'identity' | 'issues') => ({ role: name, password: 'secret' });

// The recipes in the READMEs. Only the ports and the folder of secrets are replaced; with TEST_POOLER, also the address of
// PostgreSQL, and the variables are added that a pooler needs.
describe('a service on its own, by the recipe in its README', () => {
  let postgres: BreakablePostgres;
  let pgBouncer: PgBouncer | undefined;
  let secrets: string;
  let ports: Record<'identity' | 'issues', number>;
  const shells: Shell[] = [];

  beforeAll(async () => {
    // A separate server, because the recipes create roles with fixed names.
    postgres = await startBreakablePostgres();
    const roles = [roleOf('identity'), roleOf('issues')];
    if (testPooler() !== 'off') pgBouncer = await PgBouncer.start(postgres.adminUrl, roles);
    secrets = mkdtempSync(join(tmpdir(), 'tessera-secrets-'));
    ports = { identity: await findFreePort(), issues: await findFreePort() };
  });

  afterAll(async () => {
    for (const shell of shells) await shell.interrupt();
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

  async function paste(name: 'identity' | 'issues'): Promise<Shell> {
    const script = recipes[name]
      .replaceAll('$HOME/tessera-secrets', secrets)
      .replaceAll('localhost:5432', new URL(pgBouncer?.urlOf(postgres.adminUrl) ?? postgres.adminUrl).host)
      .replaceAll('localhost:3001', `localhost:${ports.identity}`)
      .replaceAll('localhost:3002', `localhost:${ports.issues}`);
    const pooled = {
      DATABASE_POOLER: testPooler(),
      MIGRATION_DATABASE_URL: withRole(withDatabase(postgres.adminUrl, name), roleOf(name)),
    };
    const shell = new Shell(script, {
      PORT: String(ports[name]),
      SHUTDOWN_DELAY_MS: '0',
      ...(pgBouncer === undefined ? {} : pooled),
    });
    shells.push(shell);
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
    await shells[0]?.interrupt();
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
    const headers = { 'X-Service-Token': readFileSync(join(secrets, 'service-token'), 'utf8').trim() };
    expect((await identity.post('/internal/identities', ada, { headers })).status).toBe(201);
    const { data } = await identity.post('/token', { grant_type: 'password', ...ada });
    token = data.access_token;
    const created = await issuesApi().post('/issues/', { title: 'The printer is on fire' });
    expect([created.status, created.headers.location]).toEqual([
      201,
      expect.stringContaining(`http://localhost:${ports.issues}/api/v1/issues/`),
    ]);
  });

  it('has the administrator that the block in docker/README.md creates, once', async () => {
    const block = shellBlock('docker/README.md', 'Images and compose', 2)
      .replace('.data/service-token', join(secrets, 'service-token'))
      .replace('localhost:3001', `localhost:${ports.identity}`);
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

  it('streams events of issues to curl, as its README shows', async () => {
    const command = shellBlock('apps/issues/README.md', 'Streams of events', 0)
      .replace('https://issues.example', `http://localhost:${ports.issues}`)
      .replace('ISS-42', 'ISS-1');
    const [shown = ''] = readCodeBlocks('apps/issues/README.md')
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
});
