import { describe, expect, it } from '@jest/globals';
import { ConfigError } from '@tessera/service-kit';
import { loadConfig } from '../src/config.ts';

const usable = {
  NODE_ENV: 'production',
  DATABASE_URL: 'postgresql://identity:db-password@localhost/identity',
  SERVICE_TOKEN: 'a-service-token-of-at-least-32-characters',
  JWT_ISSUER: 'https://id.example.com',
  JWT_KEYS_DIR: '/run/secrets/keys',
  UV_THREADPOOL_SIZE: '8',
};

function problemsOf(environment: Record<string, string | undefined>): string[] {
  try {
    loadConfig(environment);
    return [];
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
}

describe('loadConfig', () => {
  it('reads a production environment and fills in the documented defaults', () => {
    expect(loadConfig(usable)).toMatchObject({
      production: true,
      port: 3001,
      audience: 'tessera',
      trustProxy: false,
      tokens: {
        accessTtlSeconds: 900,
        refreshIdleTtlSeconds: 1_209_600,
        refreshAbsoluteTtlSeconds: 2_592_000,
        reuseLeewaySeconds: 10,
        accessTyp: 'at+jwt',
        refreshAtTokenEndpoint: false,
      },
      passwords: { bcryptCost: 10, minLength: 8, blocklist: true, hashQueueMax: 64 },
    });
  });

  it('assumes production when NODE_ENV is missing', () => {
    expect(problemsOf({ ...usable, NODE_ENV: undefined, JWT_ISSUER: 'http://id.example.com' })).toHaveLength(
      1,
    );
  });

  it.each([
    ['SERVICE_TOKEN', undefined],
    ['SERVICE_TOKEN', 'short'],
    ['SERVICE_TOKEN', 'x'.repeat(31)],
    ['SERVICE_TOKEN', `${'x'.repeat(32)} with blanks`],
    ['SERVICE_TOKEN', 'x'.repeat(36)],
    ['SERVICE_TOKEN_PREVIOUS', 'short'],
    ['SERVICE_TOKENS', 'a-token-instead-of-a-digest'],
    ['SERVICE_TOKENS', `billing=${'0'.repeat(63)}`],
    ['SERVICE_TOKENS', `=${'0'.repeat(64)}`],
    ['SERVICE_TOKENS', `billing=${'0'.repeat(64)}\nbilling=${'1'.repeat(64)}`],
    ['SERVICE_TOKENS', Array.from({ length: 101 }, (_, n) => `b${n}=${'0'.repeat(64)}`).join('\n')],
    ['SESSIONS_VALID_AFTER', '2126-01-01T00:00:00Z'],
    ['JWT_ISSUER', undefined],
    ['JWT_ISSUER', 'http://id.example.com'],
    ['JWT_ISSUER', 'http://localhost:3001'],
    ['JWT_ISSUER', 'id.example.com'],
    ['JWT_ISSUER', 'ftp://id.example.com'],
    ['JWT_ISSUER', 'https://id.example.com/?x=1'],
    ['JWT_ISSUER', 'https://id.example.com/#x'],
    ['JWT_ISSUER', 'https://user:pw@id.example.com'],
    ['JWT_ISSUER', 'https://*.example.com'],
    ['CORS_ORIGINS', 'app.example'],
    ['CORS_ORIGINS', 'https://app.example/path'],
    ['JWT_PRIVATE_KEY', undefined, { JWT_KEYS_DIR: undefined }],
    ['DATABASE_URL', undefined],
    ['DATABASE_URL', 'mysql://localhost'],
    ['DATABASE_URL', 'postgresql://identity:secret@localhost:abc/identity'],
    ['BCRYPT_COST', '9'],
    ['BCRYPT_COST', 'ten'],
    ['PASSWORD_BLOCKLIST', 'off'],
    ['PASSWORD_BLOCKLIST', 'off', { NODE_ENV: 'development' }],
    ['PORT', '70000'],
    ['PORT', '-1'],
    ['BRAND_COLOR', 'blue'],
    ['BRAND_COLOR', '#ffcc00'],
    ['BRAND_NAME', 'x'.repeat(61)],
    ['BRAND_NAME', 'a\u202eb'],
    ['ACCESS_TOKEN_TTL_SECONDS', '0'],
    ['ACCESS_TOKEN_TYP', 'rt+jwt'],
    ['ACCESS_TOKEN_TYP', 'jwt'],
    ['TOKEN_ENDPOINT_REFRESH', 'perhaps'],
    ['REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS', '3600'],
    ['HASH_CONCURRENCY', '8'],
    ['TRUST_PROXY', 'yes please'],
    ['SIGN_IN_LIMITS', 'maybe'],
    ['SESSIONS_VALID_AFTER', 'yesterday'],
    ['LOG_LEVEL', 'loud'],
    ['JANITOR_INTERVAL_SECONDS', '-1'],
    ['AUDIT_RETENTION_DAYS', '29'],
    ['NODE_ENV', 'staging'],
  ])(
    'rejects %s=%s in production with an error that contains the name but not the value',
    (name, value, more: object = {}) => {
      const problems = problemsOf({ ...usable, ...more, [name]: value });
      expect(problems.map((problem) => problem.split(':')[0])).toContain(name);
      if (value !== undefined && value.length > 3) expect(problems.join()).not.toContain(value);
    },
  );

  it('reports all problems at once, including those of several variables', () => {
    const problems = problemsOf({ NODE_ENV: 'production', PORT: 'x', DATABASE_URL: 'x', BCRYPT_COST: '4' });
    const names = problems.map((problem) => problem.split(':')[0]).sort();
    expect(names).toEqual([
      'BCRYPT_COST',
      'DATABASE_URL',
      'JWT_ISSUER',
      'JWT_PRIVATE_KEY',
      'PORT',
      'SERVICE_TOKEN',
    ]);
  });

  it('reads the issuer in its one spelling, also the default of a test with the default port', () => {
    expect(loadConfig({ ...usable, JWT_ISSUER: 'https://ID.example.com:443/' }).issuer).toBe(
      usable.JWT_ISSUER,
    );
    const test = { ...usable, NODE_ENV: 'test', JWT_ISSUER: undefined, PORT: '80' };
    expect(loadConfig(test).issuer).toBe('http://localhost');
  });

  it('allows http only for a loopback issuer and only with ALLOW_LOOPBACK_ISSUER', () => {
    const allow = { ...usable, ALLOW_LOOPBACK_ISSUER: 'on' };
    for (const host of ['localhost:3001', '127.0.0.1', '[::1]:3001']) {
      expect(problemsOf({ ...allow, JWT_ISSUER: `http://${host}` })).toEqual([]);
    }
    expect(problemsOf({ ...allow, JWT_ISSUER: 'http://localhost.example.com' })).toHaveLength(1);
  });

  it.each([
    ['off', false],
    ['1', 1],
    ['10.0.0.0/8, ::1', ['10.0.0.0/8', '::1']],
    ['loopback', ['loopback']],
  ])('reads TRUST_PROXY=%s', (value, expected) => {
    expect(loadConfig({ ...usable, TRUST_PROXY: value }).trustProxy).toEqual(expected);
  });
});
