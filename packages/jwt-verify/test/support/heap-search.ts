// Verifies a token, drops it, and searches every string of the heap for it.
import { hash } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { getHeapSnapshot } from 'node:v8';
import { createTokenVerifier, localKeySource } from '../../src/index.ts';
import { audience, createJwt, issuer, keyPair, kid, noon } from './context.ts';

const verifier = createTokenVerifier({
  kind: 'access',
  issuer,
  audience,
  keys: localKeySource(new Map([[kid, keyPair.publicKey]])),
  now: () => noon,
});

// Returns only hashes, so that the script itself keeps no reference to the token.
async function verifyOne(): Promise<{ fingerprint: string; tokenHash: string; signatureHash: string }> {
  const token = createJwt();
  await verifier.verify(token);
  return {
    fingerprint: hash('sha256', token, 'base64'),
    tokenHash: hash('sha256', token),
    signatureHash: hash('sha256', token.slice(token.lastIndexOf('.') + 1)),
  };
}

const { fingerprint, tokenHash, signatureHash } = await verifyOne();
// V8 keeps the last input of a regular expression.
await verifyOne();
globalThis.gc?.();

const { strings }: { strings: string[] } = JSON.parse(await text(getHeapSnapshot()));
const hashes = new Set(strings.map((string) => hash('sha256', string)));
process.stdout.write(
  JSON.stringify({
    fingerprintInHeap: strings.includes(fingerprint),
    tokenInHeap: hashes.has(tokenHash) || hashes.has(signatureHash),
  }),
);
