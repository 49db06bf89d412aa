import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import {
  commonConfig,
  isProduction,
  issuerProblems,
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
        statementTimeoutMs: 5000,
        writesEvents: true,
        throughPooler: false,
        namesStatements: true,
      },
      eventRetentionDays: 7,
      audience: 'tessera',
    });
  });

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

  it.each([['two words'], ['é'], ['x'.repeat(513)]])(
    'refuse a service token that a header cannot contain',
    (token) => {
      expect(() => read({ SERVICE_TOKEN: token })).toThrow(/SERVICE_TOKEN: must be/);
    },
  );
});

describe('serviceTokenProblems', () => {
  it('require a token, and in production a long one', () => {
    expect(serviceTokenProblems({})).toEqual(['SERVICE_TOKEN: is required']);
    expect(serviceTokenProblems({ SERVICE_TOKEN: 'x'.repeat(32) })).toEqual([]);
    expect(serviceTokenProblems({ SERVICE_TOKEN: 'short', NODE_ENV: 'test' })).toEqual([]);
    expect(serviceTokenProblems({ SERVICE_TOKEN: 'x'.repeat(32), SERVICE_TOKEN_PREVIOUS: 'short' })).toEqual([
      expect.stringMatching(/^SERVICE_TOKEN_PREVIOUS: must be at least 32 characters/),
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
