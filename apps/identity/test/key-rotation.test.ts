import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { decodeProtectedHeader } from 'jose';
import { KeyRotation, RotationRefusal } from '../src/keys/key-rotation.ts';
import { signedIn, signIn } from './support/identities.ts';
import { createTestDatabase, signingPem, startTestApp, type TestApp } from './support/test-app.ts';

const lifetimes = { accessTtlSeconds: 900, refreshAbsoluteTtlSeconds: 2_592_000, rolloutSeconds: 300 };
const minute = 60_000;
const day = 1440 * minute;

let directory: string;
let now: number;
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tessera-keys-'));
  now = Date.parse('2026-01-01T00:00:00Z');
});
afterEach(() => rmSync(directory, { recursive: true }));

const rotation = (options: { atOnce?: boolean; activeKid?: string } = {}) =>
  new KeyRotation({ directory, keyName: 'identity', lifetimes, now: () => new Date(now), ...options });
const states = () =>
  Object.fromEntries(
    rotation()
      .list()
      .map(({ kid, state }) => [kid, state]),
  );
const pass = (milliseconds: number) => {
  now += milliseconds;
};

describe('the rotation of keys', () => {
  it('moves each key through its states at the scheduled times', () => {
    expect(rotation().createNext()).toBe('identity-key-1');
    expect(states()).toEqual({ 'identity-key-1': 'active' });
    pass(day);
    expect(rotation().createNext()).toBe('identity-key-2');
    expect(() => rotation().createNext()).toThrow('identity-key-2 is already the next key.');
    // Twice the max-age of the key set, plus the rollout.
    pass(15 * minute - 1);
    expect(() => rotation().activate()).toThrow('not before 2026-01-02T00:15:00.000Z');
    pass(1);
    expect(rotation().activate()).toBe('identity-key-2');
    expect(states()).toEqual({ 'identity-key-1': 'retiring', 'identity-key-2': 'active' });
    // The lifetime of an access token, one minute for clocks, plus the rollout.
    pass(21 * minute - 1);
    expect(() => rotation().retire('identity-key-1')).toThrow(RotationRefusal);
    expect(() => rotation().delete('identity-key-1')).toThrow(
      'Cannot delete identity-key-1: its state is retiring.',
    );
    pass(1);
    rotation().retire('identity-key-1');
    expect(states()).toEqual({ 'identity-key-1': 'verify_only', 'identity-key-2': 'active' });
    // The absolute refresh lifetime, counted from the last day on which the key signed.
    pass(30 * day - 15 * minute - 1);
    expect(() => rotation().delete('identity-key-1')).toThrow(RotationRefusal);
    pass(1);
    rotation().delete('identity-key-1');
    expect(readdirSync(directory).sort()).toEqual(['identity-key-2.pem', 'keys.json']);
  });

  it('always keeps a signing key', () => {
    rotation().createNext();
    expect(() => rotation().activate()).toThrow('There is no next key. Create one first.');
    expect(() => rotation({ atOnce: true }).delete('identity-key-1')).toThrow('its state is active');
    expect(() => rotation({ atOnce: true }).retire('identity-key-1')).toThrow('its state is active');
    expect(() => rotation().retire('identity-key-7')).toThrow('There is no key identity-key-7.');
  });

  it('replaces a leaked key immediately', () => {
    rotation().createNext();
    rotation().createNext();
    rotation({ atOnce: true }).activate();
    rotation({ atOnce: true }).delete('identity-key-1');
    expect(states()).toEqual({ 'identity-key-2': 'active' });
  });

  it('never uses the id of a deleted key again', () => {
    rotation().createNext();
    rotation().createNext();
    rotation({ atOnce: true }).delete('identity-key-2');
    expect(rotation().createNext()).toBe('identity-key-3');
    rotation({ atOnce: true }).activate();
    rotation({ atOnce: true }).delete('identity-key-1');
    rotation().createNext();
    rotation({ atOnce: true }).delete('identity-key-4');
    expect(rotation().createNext()).toBe('identity-key-5');
    expect(JSON.parse(readFileSync(join(directory, 'keys.json'), 'utf8')).last_number).toBe(5);
  });

  it('does not use an id again after a crash that left no key file', () => {
    rotation().createNext();
    mkdirSync(join(directory, 'identity-key-2.pem.part'));
    expect(() => rotation().createNext()).toThrow('EISDIR');
    expect(rotation().createNext()).toBe('identity-key-3');
  });

  it('accepts a key folder that was created by hand', () => {
    writeFileSync(join(directory, 'identity-key-4.pem'), signingPem());
    expect(states()).toEqual({ 'identity-key-4': 'active' });
    expect(rotation().createNext()).toBe('identity-key-5');
    rmSync(join(directory, 'keys.json'));
    expect(() => states()).toThrow('JWT_ACTIVE_KID must name the active key.');
    expect(rotation({ activeKid: 'identity-key-5' }).list()).toMatchObject([
      { kid: 'identity-key-4', state: 'retiring' },
      { kid: 'identity-key-5', state: 'active' },
    ]);
  });

  it('fails when a key file is missing', () => {
    rotation().createNext();
    rmSync(join(directory, 'identity-key-1.pem'));
    expect(() => rotation().createNext()).toThrow('identity-key-1.pem is missing.');
  });

  it('makes private keys readable by their owner only', () => {
    const kid = rotation().createNext();
    expect(statSync(join(directory, `${kid}.pem`)).mode & 0o077).toBe(0);
  });
});

describe('a service that reads keys.json', () => {
  let databaseUrl: string;
  const open: TestApp[] = [];
  beforeEach(async () => {
    databaseUrl = await createTestDatabase();
  });
  afterEach(async () => {
    for (const app of open.splice(0)) await app.close();
  });

  /** Reloads the keys, like a restart of every replica. */
  const start = async () => {
    const app = await startTestApp({ JWT_KEYS_DIR: directory }, databaseUrl);
    open.push(app);
    return app;
  };
  const published = async (app: TestApp) =>
    (await app.http.get('/jwks').expect(200)).body.keys.map(({ kid }: { kid: string }) => kid);
  const refresh = (app: TestApp, token: string) =>
    app.http.post('/token/refresh').send({ refresh_token: token });

  it('accepts every token until it expires, throughout a rotation', async () => {
    rotation().createNext();
    const first = await start();
    const { identity, password, tokens } = await signedIn(first);
    rotation().createNext();
    const second = await start();
    expect(await published(second)).toEqual(['identity-key-1', 'identity-key-2']);
    expect(decodeProtectedHeader((await signIn(second, identity.email, password)).access_token).kid).toBe(
      'identity-key-1',
    );
    pass(day);
    rotation().activate();
    const third = await start();
    expect(await published(third)).toEqual(['identity-key-1', 'identity-key-2']);
    expect(decodeProtectedHeader((await signIn(third, identity.email, password)).access_token).kid).toBe(
      'identity-key-2',
    );
    await third.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(200);
    pass(day);
    rotation().retire('identity-key-1');
    const fourth = await start();
    expect(await published(fourth)).toEqual(['identity-key-2']);
    await fourth.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(401);
    await refresh(fourth, tokens.refresh_token).expect(200);
    pass(31 * day);
    rotation().delete('identity-key-1');
    const fifth = await start();
    await refresh(fifth, tokens.refresh_token).expect(401);
  });

  it('does not trust a deleted key whose file comes back', async () => {
    rotation().createNext();
    const leaked = join(directory, 'identity-key-1.pem');
    const copy = readFileSync(leaked);
    const before = await start();
    const { tokens } = await signedIn(before);
    rotation().createNext();
    rotation({ atOnce: true }).activate();
    rotation({ atOnce: true }).delete('identity-key-1');
    writeFileSync(leaked, copy);
    // A key that was added by hand has a new number.
    writeFileSync(join(directory, 'identity-key-3.pem'), signingPem());
    const after = await start();
    expect(await published(after)).toEqual(['identity-key-2', 'identity-key-3']);
    const { access_token, refresh_token } = tokens;
    await after.http.get('/userinfo').set('Authorization', `Bearer ${access_token}`).expect(401);
    await refresh(after, refresh_token).expect(401);
    rotation().delete('identity-key-1');
    expect(readdirSync(directory).sort()).toEqual(['identity-key-2.pem', 'identity-key-3.pem', 'keys.json']);
    expect(() => rotation().delete('identity-key-1')).toThrow('There is no key identity-key-1.');
  });

  it('reports the age of its key', async () => {
    rotation().createNext();
    const app = await start();
    const line = /^identity_signing_key_age_seconds\{kid="identity-key-1".*\} (\d+)/m;
    const [, age] = line.exec(await app.dependencies.metrics.registry.metrics()) ?? [];
    expect(Number(age)).toBeGreaterThan((Date.now() - now) / 1000 - 60);
  });

  it.each([
    ['is no JSON', 'nonsense', 'keys.json is not a list of keys'],
    ['is something else', '{"keys":[{"kid":"identity-key-1"}]}', 'keys.json is not a list of keys'],
    [
      'contains a key without a file',
      JSON.stringify({
        keys: [
          { kid: 'identity-key-9', made_at: '2026-01-01T00:00:00Z', activated_at: '2026-01-01T00:00:00Z' },
        ],
        last_number: 9,
      }),
      'there is no key identity-key-9',
    ],
  ])('does not start when it %s', async (_name, text, said) => {
    writeFileSync(join(directory, 'identity-key-1.pem'), signingPem());
    writeFileSync(join(directory, 'keys.json'), text);
    await expect(startTestApp({ JWT_KEYS_DIR: directory }, databaseUrl)).rejects.toThrow(said);
  });
});

describe('keys-cli', () => {
  const cli = (args: string[], environment: Record<string, string> = {}) =>
    spawnSync(process.execPath, ['dist/keys-cli.js', ...args], {
      cwd: fileURLToPath(new URL('..', import.meta.url)),
      env: { PATH: process.env.PATH, JWT_KEYS_DIR: directory, ...environment },
      encoding: 'utf8',
    });

  it.each(['--help', '-h'])('prints its help for %s and reads no configuration', (flag) => {
    const { status, stdout, stderr } = cli([flag], { ACCESS_TOKEN_TTL_SECONDS: 'invalid' });
    expect([status, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/^Usage: node dist\/keys-cli\.js <command> \[options\]\n/);
    for (const command of ['list', 'next', 'activate', 'retire', 'delete'])
      expect(stdout).toMatch(new RegExp(`^  ${command} `, 'm'));
    for (const part of ['--directory', '--rollout-seconds', '--at-once', 'JWT_KEYS_DIR', 'Example:'])
      expect(stdout).toContain(part);
  });

  it('rotates by the lifetimes of the service and prints the next step', () => {
    expect(cli(['next']).stdout).toMatch(
      /^Created identity-key-1\. Roll it out now\.\nidentity-key-1 {2}active/,
    );
    cli(['next']);
    const early = cli(['activate']);
    expect([early.status, early.stderr]).toEqual([
      1,
      expect.stringMatching(/^Too early to activate identity-key-2: not before /),
    ]);
    expect(cli(['activate', '--at-once']).stdout).toContain('identity-key-2 signs after the next rollout.');
    const waitOf = (ttl: string) => {
      const { stdout } = cli(['list', '--rollout-seconds', '0'], { ACCESS_TOKEN_TTL_SECONDS: ttl });
      const [, since, from] = /since (\S+) {2}retire from (\S+)/.exec(stdout) ?? [];
      return (Date.parse(from ?? '') - Date.parse(since ?? '')) / 1000;
    };
    expect([waitOf('900'), waitOf('60')]).toEqual([960, 120]);
    expect(readFileSync(join(directory, 'keys.json'), 'utf8')).not.toContain('PRIVATE');
    expect(cli(['delete', 'identity-key-1', '--at-once']).stdout).toMatch(
      /^Deleted identity-key-1\.\nThese steps remain, .*\n1\. Restart every replica of identity\./,
    );
  });

  it.each([
    ['a missing command', [], 'No command'],
    ['an unknown command', ['rotate'], "Unknown command 'rotate'"],
    ['an unknown option', ['list', '--now'], "Unknown option '--now'"],
    ['a stray argument', ['next', 'identity-key-2'], "Unexpected argument 'identity-key-2'"],
    ['a second kid', ['delete', 'identity-key-1', 'identity-key-2'], "Unexpected argument 'identity-key-2'"],
    ['a missing kid', ['retire'], 'retire requires a kid'],
    [
      'an invalid value',
      ['list', '--rollout-seconds', 'soon'],
      '--rollout-seconds must be a whole number of up to seven digits',
    ],
  ])('exits with 2 for %s and changes nothing', (_name, args, problem) => {
    const { status, stdout, stderr } = cli(args);
    expect({ status, stdout, stderr }).toEqual({
      status: 2,
      stdout: '',
      stderr: `${problem}. See "node dist/keys-cli.js --help".\n`,
    });
    expect(readdirSync(directory)).toEqual([]);
  });

  it('exits with 1 for a key that does not exist', () => {
    expect(cli(['retire', 'identity-key-1']).status).toBe(1);
  });

  it('exits with 1 for a directory that does not exist and names it', () => {
    const missing = join(directory, 'missing');
    expect(cli(['--directory', missing, 'next'])).toMatchObject({
      status: 1,
      stderr: `The directory ${missing} does not exist.\n`,
    });
  });
});
