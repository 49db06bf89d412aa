import { describe, expect, it } from '@jest/globals';
import { createTokenVerifier, InvalidTokenError, localKeySource, RemoteKeySource } from '../src/index.ts';
import { attacks, validToken } from './support/attack-table.ts';
import { attackContext, jwkOf, keyPair, kid, noon } from './support/context.ts';
import { startJwksServer } from './support/jwks-server.ts';

describe.each(['access', 'refresh'] as const)('an attack on the %s verifier', (kind) => {
  const context = attackContext(kind, 'http://127.0.0.1:9');
  const verifier = createTokenVerifier({
    kind,
    issuer: context.claims.iss,
    audience: context.claims.aud,
    keys: localKeySource(new Map([[kid, keyPair.publicKey]])),
    now: () => noon,
  });

  it('changes a token that is accepted unchanged', async () => {
    await expect(verifier.verify(validToken(context))).resolves.toEqual(context.claims);
  });

  it.each(attacks(context))('is refused: $name', async ({ token, reason }) => {
    const error = await verifier.verify(token).catch((refusal: unknown) => refusal);
    expect(error).toBeInstanceOf(InvalidTokenError);
    expect(error).toMatchObject({
      status: 401,
      code: 'invalid_token',
      reason: expect.stringMatching(reason),
    });
  });
});

it('fetches only from the configured URL, and only once, although tokens name other URLs', async () => {
  const [listener, identity] = await Promise.all([startJwksServer(), startJwksServer()]);
  try {
    identity.publish([jwkOf(keyPair.publicKey)]);
    const context = attackContext('access', listener.url);
    const verifier = createTokenVerifier({
      kind: 'access',
      issuer: context.claims.iss,
      audience: context.claims.aud,
      keys: new RemoteKeySource({ jwksUri: `${identity.url}/jwks` }),
      now: () => noon,
    });
    await expect(verifier.verify(validToken(context))).resolves.toBeDefined();
    for (const { token } of attacks(context)) {
      await expect(verifier.verify(token)).rejects.toBeInstanceOf(InvalidTokenError);
    }
    expect(listener.requests).toHaveLength(0);
    expect(identity.requests.map(({ url }) => url)).toEqual(['/jwks']);
  } finally {
    await Promise.all([listener.close(), identity.close()]);
  }
});
