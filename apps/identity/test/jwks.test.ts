import { generateKeyPairSync } from 'node:crypto';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { jwkSetSchema } from '@tessera/contracts';
import { ConfigError } from '@tessera/service-kit';
import { decodeProtectedHeader } from 'jose';
import { signedIn } from './support/identities.ts';
import { createTestDatabase, startTestApp } from './support/test-app.ts';

function rsaPem(bits = 2048): string {
  return generateKeyPairSync('rsa', { modulusLength: bits })
    .privateKey.export({ type: 'pkcs8', format: 'pem' })
    .toString();
}

describe('GET /jwks', () => {
  let directory: string;
  let database: string;
  const pem = rsaPem();

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'keys-'));
    writeFileSync(join(directory, 'main-key-1.pem'), pem);
    writeFileSync(join(directory, 'main-key-2.pem'), rsaPem());
    writeFileSync(join(directory, 'main-key-3.pem'), rsaPem());
    writeFileSync(join(directory, 'README.txt'), 'not a key');
    database = await createTestDatabase();
  });
  afterAll(() => rmSync(directory, { recursive: true }));

  it('publishes one public RSA key with exactly the members of docs/spec/identity-service.md 2.7', async () => {
    const app = await startTestApp({ JWT_PRIVATE_KEY: pem }, database);
    const { body } = await app.http.get('/jwks').expect(200);
    expect(Object.keys(body)).toEqual(['keys']);
    expect(body.keys).toHaveLength(1);
    expect(Object.keys(body.keys[0]).sort()).toEqual(['alg', 'e', 'kid', 'kty', 'n', 'use']);
    expect(body.keys[0]).toMatchObject({ kty: 'RSA', use: 'sig', alg: 'RS256', kid: 'identity-key-1' });
    expect(jwkSetSchema.parse(body)).toEqual(body);
    await app.close();
  });

  it('accepts the key as base64 PEM and names it by JWT_KEY_NAME', async () => {
    const app = await startTestApp(
      { JWT_PRIVATE_KEY: Buffer.from(pem).toString('base64'), JWT_KEY_NAME: 'acme' },
      database,
    );
    const { body } = await app.http.get('/jwks').expect(200);
    expect(body.keys[0].kid).toBe('acme-key-1');
    await app.close();
  });

  it('publishes the next and the previous key, signs with the active one, and hides a verify-only key', async () => {
    const environment = {
      JWT_KEYS_DIR: directory,
      JWT_ACTIVE_KID: 'main-key-2',
      JWT_VERIFY_ONLY_KIDS: 'main-key-1',
    };
    const app = await startTestApp(environment, database);
    const { body } = await app.http.get('/jwks').expect(200);
    expect(body.keys.map((key: { kid: string }) => key.kid)).toEqual(['main-key-2', 'main-key-3']);
    const { tokens } = await signedIn(app);
    expect(decodeProtectedHeader(tokens.access_token)).toEqual({
      alg: 'RS256',
      typ: 'at+jwt',
      kid: 'main-key-2',
    });
    await app.close();
  });

  it('accepts refresh tokens, but no access tokens, of a key that became verify-only', async () => {
    const before = await startTestApp({ JWT_KEYS_DIR: directory, JWT_ACTIVE_KID: 'main-key-1' }, database);
    const { tokens } = await signedIn(before);
    await before.close();
    const after = await startTestApp(
      { JWT_KEYS_DIR: directory, JWT_ACTIVE_KID: 'main-key-2', JWT_VERIFY_ONLY_KIDS: 'main-key-1' },
      database,
    );
    await after.http.get('/userinfo').set('Authorization', `Bearer ${tokens.access_token}`).expect(401);
    const refreshed = await after.http
      .post('/token/refresh')
      .send({ refresh_token: tokens.refresh_token })
      .expect(200);
    await after.http
      .get('/userinfo')
      .set('Authorization', `Bearer ${refreshed.body.access_token}`)
      .expect(200);
    await after.close();
  });

  describe('the start fails, naming the variable, with', () => {
    const bad = mkdtempSync(join(tmpdir(), 'bad-keys-'));
    const files: Record<string, string> = {
      'ec-key-1.pem': generateKeyPairSync('ec', { namedCurve: 'P-256' })
        .privateKey.export({ type: 'pkcs8', format: 'pem' })
        .toString(),
      'short-key-1.pem': rsaPem(1024),
      'broken-key-1.pem': '-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n',
      'badname.pem': pem,
    };
    beforeAll(() => {
      for (const [name, content] of Object.entries(files)) writeFileSync(join(bad, name), content);
    });
    afterAll(() => rmSync(bad, { recursive: true }));

    it.each([
      ['keys that are not RSA, too short, broken or badly named', { JWT_KEYS_DIR: bad }, Object.keys(files)],
      ['a missing directory', { JWT_KEYS_DIR: '/nonexistent/keys' }, ['JWT_KEYS_DIR']],
      ['an empty directory', { JWT_KEYS_DIR: tmpdir() }, ['JWT_KEYS_DIR']],
      ['several keys without an active one', 'several', ['JWT_ACTIVE_KID']],
      ['an active key that does not exist', 'unknown-active', ['JWT_ACTIVE_KID']],
      ['a verify-only key that does not exist', 'unknown-verify', ['JWT_VERIFY_ONLY_KIDS']],
      ['a verify-only key that is active', 'active-verify', ['JWT_VERIFY_ONLY_KIDS']],
      ['two sources of keys', { JWT_KEYS_DIR: bad, JWT_PRIVATE_KEY: pem }, ['JWT_PRIVATE_KEY']],
      ['a key that is not PEM', { JWT_PRIVATE_KEY: 'nonsense' }, ['JWT_PRIVATE_KEY']],
    ])('%s', async (_name, given, named) => {
      const presets: Record<string, Record<string, string>> = {
        several: { JWT_KEYS_DIR: directory },
        'unknown-active': { JWT_KEYS_DIR: directory, JWT_ACTIVE_KID: 'main-key-9' },
        'unknown-verify': {
          JWT_KEYS_DIR: directory,
          JWT_ACTIVE_KID: 'main-key-1',
          JWT_VERIFY_ONLY_KIDS: 'main-key-9',
        },
        'active-verify': {
          JWT_KEYS_DIR: directory,
          JWT_ACTIVE_KID: 'main-key-1',
          JWT_VERIFY_ONLY_KIDS: 'main-key-1',
        },
      };
      const environment: Record<string, string> = typeof given === 'string' ? (presets[given] ?? {}) : given;
      const error = await startTestApp(environment, database).then(
        () => undefined,
        (thrown: unknown) => thrown,
      );
      expect(error).toBeInstanceOf(ConfigError);
      for (const name of named) expect(String(error)).toContain(name);
      expect(String(error)).not.toContain('PRIVATE KEY-----');
    });
  });
});
