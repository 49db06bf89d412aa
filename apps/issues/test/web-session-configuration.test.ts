import { randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { loadConfig } from '../src/config.ts';
import { testEnvironment } from './support/environment.ts';

const key = randomBytes(32).toString('base64');
const load = (environment: Record<string, string>) =>
  loadConfig(testEnvironment('postgresql://localhost/issues', 'https://id.test', environment));
const inProduction = { NODE_ENV: 'production', WEB_APP: 'on', SESSION_KEYS: key };

describe('the configuration of the web app', () => {
  it('is off by default', () => {
    expect(load({}).webApp).toBeUndefined();
    expect(load({ NODE_ENV: 'production', SESSION_KEYS: key }).webApp).toBeUndefined();
  });

  it('has keys in the order of the list, as base64 or base64url', () => {
    const second = randomBytes(32);
    const config = load({ ...inProduction, SESSION_KEYS: `${key}, ${second.toString('base64url')}` });
    expect(config.webApp?.sessionKeys.map((one) => one.export().toString('base64'))).toEqual([
      key,
      second.toString('base64'),
    ]);
  });

  it('creates a key outside production only', () => {
    expect(load({ WEB_APP: 'on' }).webApp?.sessionKeys).toHaveLength(1);
    expect(() => load({ ...inProduction, SESSION_KEYS: '' })).toThrow('SESSION_KEYS: is required');
  });

  it.each([
    ['short', 'short'],
    ['cut', key.slice(4)],
    ['followed by another', `${key},x`],
    ['long', `${key}AAAA`],
  ])('refuses keys of which one is %s, without their value', (_kind, keys) => {
    expect(() => load({ ...inProduction, SESSION_KEYS: keys })).toThrow(
      /^The configuration is invalid:\n {2}SESSION_KEYS: must be a list of keys of 32 bytes, each as base64$/,
    );
  });

  it('refuses keys that are not random', () => {
    for (const keys of [
      Buffer.alloc(32).toString('base64'),
      `${key},${Buffer.alloc(32, 'ab').toString('base64')}`,
    ])
      expect(() => load({ ...inProduction, SESSION_KEYS: keys })).toThrow('SESSION_KEYS: must be random');
  });

  it.each([
    ['https://issues.test', true],
    ['http://localhost:3002', false],
    ['http://127.0.0.1:3002', false],
    ['http://[::1]:3002', false],
  ])('allows the URL %s', (PUBLIC_BASE_URL, isSecure) => {
    expect(load({ ...inProduction, PUBLIC_BASE_URL }).webApp?.isSecure).toBe(isSecure);
  });

  it.each([
    ['https://issues.test/', 'https://issues.test'],
    [' HTTPS://Issues.Test:443', 'https://issues.test'],
    ['https://issues.test:8443/Base//', 'https://issues.test:8443/Base'],
  ])('reads the URL %j in its one spelling', (PUBLIC_BASE_URL, publicBaseUrl) => {
    expect(load({ ...inProduction, PUBLIC_BASE_URL }).publicBaseUrl).toBe(publicBaseUrl);
  });

  it.each(['https://*.issues.test', 'https://issues.test?', 'https://issues test', 'issues.test'])(
    'refuses the URL %s',
    (PUBLIC_BASE_URL) => {
      expect(() => load({ ...inProduction, PUBLIC_BASE_URL })).toThrow(
        'PUBLIC_BASE_URL: must be an http(s) URL',
      );
    },
  );

  it('refuses an http URL that is not a loopback address', () => {
    expect(() => load({ WEB_APP: 'on', PUBLIC_BASE_URL: 'http://issues.test' })).toThrow(
      'PUBLIC_BASE_URL: must be https',
    );
    expect(load({ PUBLIC_BASE_URL: 'http://issues.test' }).webApp).toBeUndefined();
  });
});
