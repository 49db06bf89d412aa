import { generateKeyPairSync, type KeyObject, randomUUID } from 'node:crypto';
import type { AttackContext } from './attack.ts';
import { createJws, rs256 } from './jws.ts';

export const issuer = 'https://identity.example';
export const audience = 'tessera';
export const kid = 'test-key-1';
export const realm = 'test';

/** 2027-01-15T08:00:00Z, in milliseconds. */
export const noon = 1_800_000_000_000;
const nowSeconds = noon / 1000;

export interface KeyPair {
  publicKey: KeyObject;
  privateKey: KeyObject;
}

export function generateRsa(modulusLength = 2048): KeyPair {
  return generateKeyPairSync('rsa', { modulusLength });
}

/** The pair that signs valid tokens. */
export const keyPair = generateRsa();

export function accessClaims(overrides: Record<string, unknown> = {}) {
  return {
    sub: randomUUID(),
    iss: issuer,
    aud: audience,
    iat: nowSeconds,
    exp: nowSeconds + 900,
    jti: randomUUID(),
    type: 'access',
    email: 'ann@example.com',
    username: 'ann',
    is_verified: true,
    is_staff: false,
    is_superuser: false,
    ...overrides,
  };
}

export function refreshClaims(overrides: Record<string, unknown> = {}) {
  return {
    sub: randomUUID(),
    iss: issuer,
    aud: issuer,
    iat: nowSeconds,
    exp: nowSeconds + 1_209_600,
    jti: randomUUID(),
    type: 'refresh',
    ...overrides,
  };
}

interface JwtOverrides {
  header?: Record<string, unknown>;
  claims?: Record<string, unknown>;
  key?: KeyObject;
}

/** An access token that is valid except for the overrides. */
export function createJwt({ header = {}, claims = {}, key = keyPair.privateKey }: JwtOverrides = {}): string {
  return createJws({ alg: 'RS256', typ: 'at+jwt', kid, ...header }, accessClaims(claims), rs256(key));
}

export function attackContext(kind: 'access' | 'refresh', listenerUrl: string): AttackContext {
  const common = { kind, privateKey: keyPair.privateKey, kid, clockToleranceSeconds: 5, listenerUrl };
  return kind === 'access'
    ? { ...common, typ: 'at+jwt', claims: accessClaims() }
    : { ...common, typ: 'rt+jwt', claims: refreshClaims() };
}

/** A public key as identity publishes it. */
export function jwkOf(key: KeyObject, overrides: Record<string, unknown> = {}): Record<string, unknown> {
  const { n, e } = key.export({ format: 'jwk' });
  return { kty: 'RSA', use: 'sig', alg: 'RS256', kid, n, e, ...overrides };
}
