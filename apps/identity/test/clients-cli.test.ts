import { execFile } from 'node:child_process';
import { createHash, randomUUID } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { testNodeArguments } from '@tessera/stack';
import { rememberSecret } from '@tessera/testing/leaks';
import pg from 'pg';
import { redirectUri } from './support/clients.ts';
import { unknownId } from './support/internal-client.ts';
import { asOwner, createTestDatabase } from './support/test-app.ts';

const issuer = 'https://identity.test';
let folder: string;
let environment: Record<string, string>;
let database: pg.Pool;
beforeAll(async () => {
  const url = await createTestDatabase();
  folder = mkdtempSync(join(tmpdir(), 'tessera-clients-'));
  environment = { DATABASE_URL: url, JWT_ISSUER: issuer };
  database = new pg.Pool({ connectionString: asOwner(url), max: 1 });
});
afterAll(async () => {
  await database.end();
  rmSync(folder, { recursive: true });
});

interface Result {
  code: number;
  stdout: string;
  stderr: string;
}

function run(args: string[], variables = environment): Promise<Result> {
  const options = {
    cwd: fileURLToPath(new URL('..', import.meta.url)),
    env: { PATH: process.env.PATH, ...variables },
  };
  return new Promise((resolve) => {
    const command = [...testNodeArguments(), 'dist/clients-cli.js', ...args];
    execFile(process.execPath, command, options, (error, stdout, stderr) => {
      resolve({ code: Number(error?.code ?? 0), stdout, stderr });
    });
  });
}

/** Runs a command that succeeds, and returns what it prints. */
async function printed(...args: string[]) {
  const { code, stdout, stderr } = await run(args);
  expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
  return JSON.parse(stdout);
}
const wiki = ['create', '--name', 'Wiki', '--kind', 'confidential', '--redirect-uri', redirectUri];
const hashOf = (secret: string) => createHash('sha256').update(secret).digest('hex');
const hashesOf = async (id: string) => {
  const columns = `encode(secret_hash, 'hex') AS present, encode(previous_secret_hash, 'hex') AS previous`;
  return (await database.query(`SELECT ${columns} FROM oauth_clients WHERE id = $1`, [id])).rows[0];
};
const auditOf = async (id: string) => {
  const text = `SELECT type, request_id FROM audit_events WHERE details ->> 'client' = $1 ORDER BY id`;
  return (await database.query(text, [id])).rows;
};

describe('the command line', () => {
  it('prints its help without a database', async () => {
    const { code, stdout, stderr } = await run(['--help'], {});
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    for (const command of ['create', 'list', 'rotate-secret <client id>', 'disable <client id>'])
      expect(stdout).toContain(`\n  ${command}  `);
    expect(stdout).toContain('\nExit codes: 0 success, 1 refused, 2 invalid command line.\n');
  });

  it.each<[string[], string]>([
    [[], 'No command'],
    [['remove'], "Unknown command 'remove'"],
    [['list', unknownId], `Unexpected argument '${unknownId}'`],
    [['disable'], 'disable requires the id of a client'],
    [['rotate-secret', 'wiki'], 'rotate-secret requires the id of a client'],
    [['disable', unknownId, 'x'], "Unexpected argument 'x'"],
    [['create', '--force'], "Unknown option '--force'"],
    [['create', '--name', 'Wiki'], 'create requires --name and --kind'],
    [[...wiki, '--client-id', 'wiki'], '--client-id must be a UUID in lower case'],
    [
      [...wiki, '--kind', 'public', '--secret-file', '/nowhere'],
      '--secret-file is not for a public client, which has no secret',
    ],
  ])('exits with 2 for %j', async (args, problem) => {
    const stderr = `${problem}. See "node dist/clients-cli.js --help".\n`;
    expect(await run(args)).toEqual({ code: 2, stdout: '', stderr });
  });

  it.each<[string, string[], string]>([
    ['another kind', ['--kind', 'web'], '--kind '],
    ['a redirect URI over http', ['--redirect-uri', 'http://app.example/'], '--redirect-uri '],
    ['a post-logout URI with a wildcard', ['--post-logout-uri', 'https://*.example/'], '--post-logout-uri '],
    ['a back-channel URI over http', ['--backchannel-uri', 'http://app.example/'], '--backchannel-uri '],
    ['an unknown scope', ['--scope', 'admin'], '--scope '],
    ['an issuer as an audience', ['--audience', issuer], '--audience '],
    ['an identity of a server', ['--identity', unknownId], '--identity '],
    ['a public client without PKCE', ['--kind', 'public', '--without-pkce'], '--without-pkce '],
  ])('names the option of %s, and exits with 1', async (_name, args, option) => {
    const { code, stdout, stderr } = await run([...wiki, ...args]);
    expect({ code, stdout }).toEqual({ code: 1, stdout: '' });
    expect(stderr.split('\n').slice(1)).toEqual([expect.stringMatching(`^  ${option}`), '']);
  });

  it.each(['disable', 'rotate-secret'])('%s exits with 1 for an unknown client', async (command) => {
    const result = await run([command, unknownId]);
    expect(result).toEqual({ code: 1, stdout: '', stderr: 'Client not found.\n' });
  });

  it('says what is missing without a database, and without a file of the secret', async () => {
    const unset = await run(['list'], {});
    expect({ ...unset, stderr: '' }).toEqual({ code: 1, stdout: '', stderr: '' });
    expect(unset.stderr).toContain('DATABASE_URL');
    const down = await run(['list'], {
      ...environment,
      DATABASE_URL: 'postgresql://none:none@127.0.0.1:1/none',
    });
    expect(down).toEqual({
      code: 1,
      stdout: '',
      stderr: "The database is unavailable: Can't reach database server at 127.0.0.1:1\n",
    });
    const { code, stderr } = await run([...wiki, '--secret-file', join(folder, 'missing')]);
    expect([code, stderr.split('\n').length]).toEqual([1, 2]);
    expect(stderr).toMatch(/^--secret-file cannot be read: ENOENT/);
    expect(stderr).toContain(join(folder, 'missing'));
  });
});

describe('a client of the command line', () => {
  it('is listed without its secret, which is printed once at each rotation', async () => {
    const { client_secret: first, ...client } = await printed(...wiki, '--third-party', '--scope', 'openid');
    rememberSecret(first);
    const { client_id: id } = client;
    expect(client).toMatchObject({ name: 'Wiki', scopes: ['openid'], is_first_party: false });
    expect(await hashesOf(id)).toEqual({ present: hashOf(first), previous: null });
    expect(await printed('list')).toEqual([client]);

    const { client_secret: second, previous_valid_until } = await printed('rotate-secret', id);
    rememberSecret(second);
    expect(Math.round((Date.parse(previous_valid_until) - Date.now()) / 3_600_000)).toBe(24);
    expect(await hashesOf(id)).toEqual({ present: hashOf(second), previous: hashOf(first) });
    // Only the two newest are valid.
    const { client_secret: third } = await printed('rotate-secret', id);
    expect(await hashesOf(id)).toEqual({ present: hashOf(third), previous: hashOf(second) });

    const disabled = await printed('disable', id);
    expect(disabled).toEqual({ ...client, disabled_at: expect.any(String) });
    expect(await printed('disable', id)).toEqual(disabled);
    const refused = await run(['rotate-secret', id]);
    expect(refused).toEqual({ code: 1, stdout: '', stderr: 'The client is disabled for good.\n' });
    expect((await auditOf(id)).map(({ type }) => type)).toEqual([
      'client.created',
      'client.secret_rotated',
      'client.secret_rotated',
      'client.disabled',
    ]);
  });

  it('has no secret if it is public, and the identity without a password if it is a machine', async () => {
    const phone = await printed(
      'create',
      '--name',
      'Phone',
      '--kind',
      'public',
      '--redirect-uri',
      redirectUri,
    );
    expect(phone).not.toHaveProperty('client_secret');
    const refused = await run(['rotate-secret', phone.client_id]);
    expect(refused).toEqual({ code: 1, stdout: '', stderr: 'A public client has no secret.\n' });
    const { rows } = await database.query(
      `INSERT INTO identities (id, email, email_canonical, username, sso_provider, sso_id)
       VALUES (gen_random_uuid(), 'robot@example.com', 'robot@example.com', 'robot', 'service', 'robot') RETURNING id`,
    );
    const machine = ['create', '--name', 'Robot', '--kind', 'machine', '--audience', 'tessera', '--identity'];
    expect(await printed(...machine, rows[0].id)).toMatchObject({
      identity_id: rows[0].id,
      audiences: ['tessera'],
      client_secret: expect.stringMatching(/^[A-Za-z0-9_-]{43}$/),
    });
  });

  it('may have an id and a secret of the deployment, and is created once by parallel processes', async () => {
    const [id, secret, file] = [randomUUID(), rememberSecret(randomUUID()), join(folder, 'secret')];
    writeFileSync(file, `${secret}\n`);
    const given = [...wiki, '--client-id', id, '--secret-file', file];
    const [first, ...others] = await Promise.all([1, 2, 3].map(() => printed(...given)));
    expect(first).toMatchObject({ client_id: id, name: 'Wiki' });
    expect(first).not.toHaveProperty('client_secret');
    expect(others).toEqual([first, first]);
    expect(await hashesOf(id)).toEqual({ present: hashOf(secret), previous: null });
    expect(await auditOf(id)).toEqual([{ type: 'client.created', request_id: 'clients-cli' }]);
    // A later start of the deployment changes nothing.
    expect(await printed(...given.slice(0, 2), 'Other', ...given.slice(3))).toEqual(first);
    await printed('disable', id);
    const refused = await run(given);
    expect(refused).toEqual({ code: 1, stdout: '', stderr: 'The client is disabled for good.\n' });
  });

  it.each(['short', `${'s'.repeat(40)} ${'t'.repeat(40)}`])('refuses the given secret %j', async (secret) => {
    const file = join(folder, 'weak');
    writeFileSync(file, secret);
    const { code, stdout, stderr } = await run([...wiki, '--secret-file', file]);
    expect([code, stdout]).toEqual([2, '']);
    expect(stderr).not.toContain(secret);
  });
});
