import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  commonConfig,
  isProduction,
  issuerProblems,
  migrationEnvironment,
  missingDatabaseUrl,
  readConfig,
  serviceTokenProblems,
  serviceVariables,
} from '../src/index.ts';

const schema = z.object(serviceVariables({ defaultPort: 3000 }));
const DATABASE_URL = 'postgresql://service@db/service';
const read = (environment: Record<string, string>) => readConfig(schema, { DATABASE_URL, ...environment });

describe('serviceVariables', () => {
  it('are strict by default: production, no trusted proxy, no allowed origin', () => {
    expect(commonConfig(read({}))).toEqual({
      production: true,
      host: '0.0.0.0',
      port: 3000,
      logLevel: 'info',
      trustProxy: false,
      corsOrigins: [],
      metricsPort: null,
      tracing: null,
      shutdownDelayMs: 5000,
      shutdownTimeoutMs: 25_000,
      http: {
        headersTimeoutMs: 10_000,
        requestTimeoutMs: 15_000,
        keepAliveTimeoutMs: 65_000,
        drainTimeoutMs: 30_000,
      },
      database: {
        url: DATABASE_URL,
        poolMax: 10,
        connectionTimeoutMs: 2_000,
        statementTimeoutMs: 5000,
        throughPooler: false,
        namesStatements: true,
      },
      eventRetentionDays: 7,
      eventStandbys: 'asynchronous',
      audience: 'tessera',
    });
  });

  it.each(['asynchronous', 'synchronous', 'synchronous-2', 'synchronous-123456789'])(
    'read EVENTS_STANDBYS=%s',
    (value) => expect(commonConfig(read({ EVENTS_STANDBYS: value })).eventStandbys).toBe(value),
  );

  it.each(['sync', 'synchronous-', 'synchronous-x', 'asynchronous-2', 'on'])(
    'refuse EVENTS_STANDBYS=%s',
    (value) => expect(() => read({ EVENTS_STANDBYS: value })).toThrow('EVENTS_STANDBYS'),
  );

  it('read one audience as a string and several as a list', () => {
    expect(commonConfig(read({ JWT_AUDIENCE: 'a' })).audience).toBe('a');
    expect(commonConfig(read({ JWT_AUDIENCE: 'a, b' })).audience).toEqual(['a', 'b']);
  });

  it.each([
    ['off', { throughPooler: false, namesStatements: true }],
    ['transaction', { throughPooler: true, namesStatements: false }],
    ['transaction-named', { throughPooler: true, namesStatements: true }],
  ])('read DATABASE_POOLER=%s', (value, expected) => {
    expect(commonConfig(read({ DATABASE_POOLER: value })).database).toMatchObject(expected);
    expect(() => read({ DATABASE_POOLER: 'session' })).toThrow(
      /DATABASE_POOLER: must be off, transaction or/,
    );
  });

  it.each([
    ['off', false],
    ['2', 2],
    ['loopback', ['loopback']],
    ['10.0.0.0/8, fd00::/8', ['10.0.0.0/8', 'fd00::/8']],
  ])('read TRUST_PROXY=%s', (value, expected) => {
    expect(commonConfig(read({ TRUST_PROXY: value })).trustProxy).toEqual(expected);
  });

  it.each([['true'], ['0'], ['100'], ['*'], ['everywhere'], ['10.0.0.0/8,any']])(
    'refuse TRUST_PROXY=%s, which would trust every X-Forwarded-For header or none',
    (value) => {
      expect(() => read({ TRUST_PROXY: value })).toThrow(
        /TRUST_PROXY: must be off, a number of hops, or a list/,
      );
    },
  );

  it.each([
    ['https://app.example/', 'https://app.example'],
    [' HTTPS://App.Example:443 ', 'https://app.example'],
    ['http://localhost:80', 'http://localhost'],
    ['https://bücher.example:8443', 'https://xn--bcher-kva.example:8443'],
    ['capacitor://localhost', 'capacitor://localhost'],
  ])('read the origin %j as browsers send it', (value, origin) => {
    expect(read({ CORS_ORIGINS: `https://a.example,${value},` }).CORS_ORIGINS).toEqual([
      'https://a.example',
      origin,
    ]);
  });

  it.each([
    '*',
    'https://*.example',
    'app.example',
    'localhost:3000',
    'https://app.example/app',
    'https://app.example//',
    'https://app.example?',
    'https://user:secret@app.example',
    'https://a.example https://b.example',
    'wss://app.example',
    'null',
  ])('refuse the origin %s, which no browser sends', (value) => {
    const failure = String(tryTo(() => read({ CORS_ORIGINS: `https://a.example,${value},also wrong` })));
    expect(failure).toMatch(
      /^ConfigError: The configuration is invalid:\n {2}CORS_ORIGINS: must be a list[^\n]*$/,
    );
    expect(failure).not.toContain(value);
  });

  it.each([
    ['https://id.example/', 'https://id.example'],
    ['HTTPS://ID.Example:443', 'https://id.example'],
    [' https://id.example\n', 'https://id.example'],
    ['http://localhost:80', 'http://localhost'],
    ['https://id.example/Realm/', 'https://id.example/Realm/'],
  ])('read the issuer %j in its one spelling', (value, issuer) => {
    expect(read({ JWT_ISSUER: value }).JWT_ISSUER).toBe(issuer);
  });

  it.each([['two words'], ['é'], ['x'.repeat(513)]])(
    'refuse a service token that a header cannot contain',
    (token) => {
      expect(() => read({ SERVICE_TOKEN: token })).toThrow(/SERVICE_TOKEN: must be/);
    },
  );
});

describe('DATABASE_URL', () => {
  it.each([
    'postgres://service@db',
    'postgresql://service:p%2Fw@db:6432/service?sslmode=verify-full&sslrootcert=/ca.crt',
    'postgresql://service@%2Fvar%2Frun%2Fpostgresql/service',
    'postgresql:///service?host=/var/run/postgresql&sslmode=disable',
  ])('accepts %s', (url) => {
    expect(read({ DATABASE_URL: url }).DATABASE_URL).toBe(url);
  });

  it.each([
    ['mysql://db/service', 'must be a postgresql:// URL'],
    ['postgresql://u:SECRET@db:port/service', 'must be a valid postgresql:// URL'],
    ['postgresql://u:SEC/RET@db/service', 'percent-encoded'],
    ['postgresql://db/service?ssl_mode=verify-full', 'has an unknown parameter for TLS'],
    ['postgresql://db/service?SSLMODE=verify-full', 'has an unknown parameter for TLS'],
    ['postgresql://db/service?ssl=no-verify', 'has an unknown parameter for TLS'],
    ['postgresql://db/service?sslmode=verify-full&sslmode=disable', 'has a parameter for TLS twice'],
    ['postgresql://db/service?sslmode=verify_full', 'has an unknown sslmode'],
    ['postgresql://db/service?sslmode=VERIFY-FULL', 'has an unknown sslmode'],
  ])('refuses %s, without its value', (url, message) => {
    const failure = String(tryTo(() => read({ DATABASE_URL: url })));
    expect(failure).toContain('DATABASE_URL: ');
    expect(failure).toContain(message);
    expect(failure).not.toMatch(/SEC|@db|verify_full/);
  });

  it('is not reported as missing if the URL of the migrator is not valid', () => {
    const load = () =>
      readConfig(migrationEnvironment, { MIGRATION_DATABASE_URL: 'mysql://x' }, [], missingDatabaseUrl);
    expect(load).toThrow(/^The configuration is invalid:\n {2}MIGRATION_DATABASE_URL: must be a \S+ URL$/);
  });
});

function tryTo(act: () => unknown): unknown {
  try {
    return act();
  } catch (error) {
    return error;
  }
}

describe('serviceTokenProblems', () => {
  it('require a token, and in production a long one', () => {
    expect(serviceTokenProblems({})).toEqual(['SERVICE_TOKEN: is required']);
    const token = randomBytes(32).toString('base64');
    expect(serviceTokenProblems({ SERVICE_TOKEN: token })).toEqual([]);
    expect(serviceTokenProblems({ SERVICE_TOKEN: 'short', NODE_ENV: 'test' })).toEqual([]);
    expect(serviceTokenProblems({ SERVICE_TOKEN: token, SERVICE_TOKEN_PREVIOUS: 'short' })).toEqual([
      expect.stringMatching(/^SERVICE_TOKEN_PREVIOUS: must be at least 32 characters/),
    ]);
  });

  it.each(['x'.repeat(36), 'abcdefg'.repeat(6)])('refuse %s in production', (token) => {
    expect(serviceTokenProblems({ SERVICE_TOKEN: token })).toEqual([
      'SERVICE_TOKEN: must be random (for example: openssl rand -base64 32)',
    ]);
  });
});

describe('issuerProblems', () => {
  it.each([
    ['https://id.example', {}],
    ['https://id.example/tenant', {}],
    ['http://id.example', { NODE_ENV: 'development' as const }],
    ['http://127.0.0.1:3000', { ALLOW_LOOPBACK_ISSUER: true }],
  ])('accept %s', (issuer, environment) => {
    expect(issuerProblems(issuer, environment)).toEqual([]);
  });

  it.each([
    [undefined, /is required/],
    ['id.example', /absolute/],
    ['ftp://id.example', /absolute/],
    ['https://id.example?x=1', /query/],
    ['https://id.example#', /fragment/],
    ['https://me:secret@id.example', /credentials/],
    ['http://id.example', /https in production/],
  ])('refuse %s in production', (issuer, message) => {
    const problems = issuerProblems(issuer, {});
    expect(problems).toEqual([expect.stringMatching(message)]);
    expect(problems[0]).not.toContain('secret');
  });

  it('permit http only for a loopback issuer', () => {
    expect(issuerProblems('http://id.example', { ALLOW_LOOPBACK_ISSUER: true })).toHaveLength(1);
  });
});

describe('isProduction', () => {
  it('is true for an invalid NODE_ENV', () => {
    expect([isProduction({}), isProduction({ NODE_ENV: 'test' })]).toEqual([true, false]);
  });
});
