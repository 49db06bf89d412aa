import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto';
import { inspect } from 'node:util';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import { SignJWT } from 'jose';
import jwt from 'jsonwebtoken';
import {
  createTokenVerifier,
  InvalidTokenError,
  KeysUnavailableError,
  localKeySource,
  type TokenVerifierOptions,
} from '../src/index.ts';
import {
  accessClaims,
  audience,
  createJwt,
  generateRsa,
  issuer,
  keyPair,
  kid,
  noon,
} from './support/context.ts';
import { createJws, encode, rs256 } from './support/jws.ts';

const keys = localKeySource(new Map([[kid, keyPair.publicKey]]));

function verifierWith(overrides: Partial<TokenVerifierOptions<'access'>> = {}) {
  return createTokenVerifier({ kind: 'access', issuer, audience, keys, now: () => noon, ...overrides });
}

/** A valid token of exactly this length, with blanks after the JSON of header and payload. */
function tokenOfLength(length: number): string {
  for (const blanks of [0, 1, 2]) {
    const header = JSON.stringify({ alg: 'RS256', kid }) + ' '.repeat(blanks);
    const room = length - createJws(header, '', rs256(keyPair.privateKey)).length;
    const payload = JSON.stringify(accessClaims()).padEnd(Math.floor((room * 3) / 4));
    const token = createJws(header, payload, rs256(keyPair.privateKey));
    if (token.length === length) return token;
  }
  throw new Error(`no token of ${length} characters can be made`);
}

afterEach(() => {
  jest.restoreAllMocks();
});

describe('a valid access token', () => {
  it.each([undefined, 'JWT', 'jwt', 'at+jwt', 'AT+JWT', 'application/at+jwt'])(
    'may have typ %s',
    async (typ) => {
      await expect(verifierWith().verify(createJwt({ header: { typ } }))).resolves.toMatchObject({
        type: 'access',
      });
    },
  );

  it('may have at most 8 KiB', async () => {
    await expect(verifierWith().verify(tokenOfLength(8192))).resolves.toBeDefined();
    await expect(verifierWith().verify(tokenOfLength(8193))).rejects.toMatchObject({
      reason: 'token too long',
    });
  });

  it('may have unknown claims and header members; the claims are omitted', async () => {
    const token = createJwt({ header: { extra: 1 }, claims: { scope: 'openid' } });
    await expect(verifierWith().verify(token)).resolves.not.toHaveProperty('scope');
  });

  it('may have JSON in any formatting', async () => {
    const claims = accessClaims({ username: 'a":b\\' });
    const payload = JSON.stringify(claims, null, 2)
      .replace('"type"', '"\\u0074ype"')
      .replace('\\"', '\\u0022');
    const token = createJws({ alg: 'RS256', kid }, payload, rs256(keyPair.privateKey));
    await expect(verifierWith().verify(token)).resolves.toEqual(claims);
  });

  it('may come from jose', async () => {
    const claims = accessClaims();
    const token = await new SignJWT(claims)
      .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid })
      .sign(keyPair.privateKey);
    await expect(verifierWith().verify(token)).resolves.toEqual(claims);
  });

  it('may come from jsonwebtoken', async () => {
    const claims = accessClaims();
    const token = jwt.sign(claims, keyPair.privateKey, { algorithm: 'RS256', keyid: kid });
    await expect(verifierWith().verify(token)).resolves.toEqual(claims);
  });
});

describe('aud', () => {
  it.each([
    { configured: ['a', 'b'], claimed: ['b', 'a'], accepted: true },
    { configured: ['a', 'b'], claimed: ['a', 'b'], accepted: true },
    { configured: ['a', 'b'], claimed: ['a'], accepted: false },
    { configured: ['a', 'b'], claimed: 'a', accepted: false },
    { configured: ['a', 'b'], claimed: ['a', 'a'], accepted: false },
    { configured: ['a', 'b'], claimed: ['a', 'b', 'c'], accepted: false },
    { configured: ['a'], claimed: 'a', accepted: true },
    { configured: 'a', claimed: ['a', 'b'], accepted: false },
  ])(
    'configured as $configured, claimed as $claimed: $accepted',
    async ({ configured, claimed, accepted }) => {
      const verification = verifierWith({ audience: configured }).verify(
        createJwt({ claims: { aud: claimed } }),
      );
      if (accepted) await expect(verification).resolves.toMatchObject({ aud: claimed });
      else await expect(verification).rejects.toBeInstanceOf(InvalidTokenError);
    },
  );

  it('must be configured', () => {
    expect(() => verifierWith({ audience: [] })).toThrow(TypeError);
  });
});

describe('the clock', () => {
  const exp = noon / 1000 + 900;

  it.each([
    { tolerance: undefined, lastSecond: exp + 4 },
    { tolerance: 0, lastSecond: exp - 1 },
    { tolerance: 60, lastSecond: exp + 59 },
  ])('refuses a token after its exp and a tolerance of $tolerance', async ({ tolerance, lastSecond }) => {
    let seconds = lastSecond;
    const verifier = verifierWith({
      ...(tolerance === undefined ? {} : { clockToleranceSeconds: tolerance }),
      now: () => seconds * 1000 + 999,
    });
    const token = createJwt();
    await expect(verifier.verify(token)).resolves.toMatchObject({ exp });
    seconds += 1;
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: 'expired' });
    await expect(verifier.verify(createJwt())).rejects.toMatchObject({ reason: 'expired' });
  });

  it.each([
    { tolerance: 5, ahead: 5, accepted: true },
    { tolerance: 5, ahead: 6, accepted: false },
    { tolerance: 0, ahead: 0, accepted: true },
    { tolerance: 0, ahead: 1, accepted: false },
  ])('accepts an iat $ahead s ahead with a tolerance of $tolerance s: $accepted', async (row) => {
    const verifier = verifierWith({ clockToleranceSeconds: row.tolerance });
    const verification = verifier.verify(createJwt({ claims: { iat: noon / 1000 + row.ahead } }));
    if (row.accepted) await expect(verification).resolves.toBeDefined();
    else await expect(verification).rejects.toMatchObject({ reason: 'issued in the future' });
  });
});

describe('a cached signature', () => {
  it('is verified once', async () => {
    const signatureChecks = jest.spyOn(jwt, 'verify');
    const verifier = verifierWith();
    const token = createJwt();
    const claims = await verifier.verify(token);
    await expect(verifier.verify(token)).resolves.toEqual(claims);
    expect(signatureChecks).toHaveBeenCalledTimes(1);
  });

  it('is verified each time when the cache is disabled', async () => {
    const signatureChecks = jest.spyOn(jwt, 'verify');
    const verifier = verifierWith({ signatureCacheSize: 0 });
    const token = createJwt();
    await verifier.verify(token);
    await verifier.verify(token);
    expect(signatureChecks).toHaveBeenCalledTimes(2);
  });

  it('is evicted for newer signatures when the cache is full', async () => {
    const signatureChecks = jest.spyOn(jwt, 'verify');
    const verifier = verifierWith({ signatureCacheSize: 2 });
    const [first, second, third] = [createJwt(), createJwt(), createJwt()];
    for (const token of [first, second, third, third, second, first]) await verifier.verify(token);
    expect(signatureChecks).toHaveBeenCalledTimes(4);
  });

  it.each([
    ['a claim is malformed', { sub: 'admin' }],
    ['it is for a larger audience', { aud: [audience, 'other'] }],
    ['it is issued in the future', { iat: noon / 1000 + 60 }],
  ])('is not stored for a token that is refused because %s', async (_name, claims) => {
    const signatureChecks = jest.spyOn(jwt, 'verify');
    const verifier = verifierWith();
    const token = createJwt({ claims });
    await expect(verifier.verify(token)).rejects.toBeInstanceOf(InvalidTokenError);
    await expect(verifier.verify(token)).rejects.toBeInstanceOf(InvalidTokenError);
    expect(signatureChecks).toHaveBeenCalledTimes(2);
  });

  it('does not apply to a token with the same header and payload and another signature', async () => {
    const verifier = verifierWith();
    const token = createJwt();
    await verifier.verify(token);
    const forged = `${token.slice(0, token.lastIndexOf('.'))}.${Buffer.alloc(256, 1).toString('base64url')}`;
    await expect(verifier.verify(forged)).rejects.toMatchObject({ reason: 'invalid signature' });
  });

  it('does not apply to a token with other contents and the same signature', async () => {
    const verifier = verifierWith();
    const token = createJwt();
    await verifier.verify(token);
    const [header = '', , signature = ''] = token.split('.');
    const promoted = `${header}.${encode(accessClaims({ is_superuser: true }))}.${signature}`;
    await expect(verifier.verify(promoted)).rejects.toMatchObject({ reason: 'invalid signature' });
    await expect(verifier.verify(token)).resolves.toMatchObject({ is_superuser: false });
  });

  it('does not apply to a token with the same contents and signature and another kid', async () => {
    const other = generateRsa();
    const both = new Map([
      [kid, keyPair.publicKey],
      ['test-key-2', other.publicKey],
    ]);
    const verifier = verifierWith({ keys: localKeySource(both) });
    const token = createJwt();
    await verifier.verify(token);
    const [, payload, signature] = token.split('.');
    const renamed = `${encode({ alg: 'RS256', kid: 'test-key-2' })}.${payload}.${signature}`;
    await expect(verifier.verify(renamed)).rejects.toMatchObject({ reason: 'invalid signature' });
  });

  it('is not used after its key is withdrawn', async () => {
    const held = new Map<string, KeyObject>([[kid, keyPair.publicKey]]);
    const verifier = verifierWith({ keys: { find: (id) => held.get(id) } });
    const token = createJwt();
    await verifier.verify(token);
    held.delete(kid);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: 'unknown kid' });
  });

  it('is not used after another key has its kid', async () => {
    const held = new Map<string, KeyObject>([[kid, keyPair.publicKey]]);
    const verifier = verifierWith({ keys: { find: (id) => held.get(id) } });
    const token = createJwt();
    await verifier.verify(token);
    held.set(kid, generateRsa().publicKey);
    await expect(verifier.verify(token)).rejects.toMatchObject({ reason: 'invalid signature' });
  });

  it('has claims that no request can change', async () => {
    const verifier = verifierWith({ audience: ['a', 'b'] });
    const claims = await verifier.verify(createJwt({ claims: { aud: ['a', 'b'] } }));
    expect(() => Object.assign(claims, { is_superuser: true })).toThrow(TypeError);
    expect(Object.isFrozen(claims.aud)).toBe(true);
  });
});

describe('an error', () => {
  it.each([
    ['a valid signature and valid claims', {}, 'The token has expired.', 'expired'],
    ['another issuer', { iss: 'https://other.example' }, 'The token is not valid.', /issuer/],
    ['another audience', { aud: 'other' }, 'The token is not valid.', /audience/],
    ['another type', { type: 'refresh' }, 'The token is not valid.', 'invalid claims: type'],
    ['no valid sub', { sub: 'x' }, 'The token is not valid.', 'invalid claims: sub'],
  ])('reveals to the client that a token with %s has expired', async (_name, claims, message, reason) => {
    const [iat, exp] = [noon / 1000 - 900, noon / 1000 - 5];
    const token = createJwt({ claims: { iat, exp, ...claims } });
    await expect(verifierWith().verify(token)).rejects.toMatchObject({
      message,
      reason: expect.stringMatching(reason),
    });
    const [head = '', body = ''] = token.split('.');
    await expect(verifierWith().verify(`${head}.${body}.${'A'.repeat(342)}`)).rejects.toMatchObject({
      message: 'The token is not valid.',
      reason: 'invalid signature',
    });
  });

  it('has the same public text for every other reason, and contains no part of the token', async () => {
    const tokens = [
      createJwt({ claims: { exp: 1 } }),
      createJwt({ claims: { sub: 'x' } }),
      `${createJwt()}x`,
    ];
    for (const token of tokens) {
      const error: unknown = await verifierWith()
        .verify(token)
        .catch((refusal: unknown) => refusal);
      expect(error).toMatchObject({ message: 'The token is not valid.' });
      const shown = inspect(error, { depth: null, showHidden: true });
      for (const part of token.split('.')) expect(shown).not.toContain(part);
    }
  });

  it('of an unusable key is not an InvalidTokenError', async () => {
    const { publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
    const error: unknown = await verifierWith({ keys: { find: () => publicKey } })
      .verify(createJwt())
      .catch((fault: unknown) => fault);
    expect(error).toBeInstanceOf(Error);
    expect(error).not.toBeInstanceOf(InvalidTokenError);
  });

  it('of the key source is thrown unchanged: an outage is not an invalid token', async () => {
    const outage = new KeysUnavailableError('down', 5);
    const verifier = verifierWith({ keys: { find: () => Promise.reject(outage) } });
    await expect(verifier.verify(createJwt())).rejects.toBe(outage);
  });
});

describe('a local key source', () => {
  it.each([
    ['a private key', keyPair.privateKey],
    ['an RSA key of 1024 bits', generateRsa(1024).publicKey],
    ['a key for PSS only', generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey],
    ['a secret', createSecretKey(Buffer.alloc(256))],
  ])('refuses %s', (_name, key) => {
    expect(() => localKeySource(new Map([[kid, key]]))).toThrow(TypeError);
  });

  it('does not change with the Map', () => {
    const held = new Map([[kid, keyPair.publicKey]]);
    const source = localKeySource(held);
    held.set('late-key-1', generateRsa(1024).publicKey);
    expect(source.find('late-key-1')).toBeUndefined();
    expect(source.find(kid)).toBe(keyPair.publicKey);
  });
});
