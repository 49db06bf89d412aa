import { createPublicKey, type KeyObject } from 'node:crypto';

/** The algorithms with which a client may sign: none with a shared secret. */
export const clientAlgorithms = ['RS256', 'PS256', 'ES256'] as const;
export type ClientAlgorithm = (typeof clientAlgorithms)[number];

// RFC 7518 6.2.2, 6.3.2 and 6.4: a private or a shared key.
const privateMembers = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k'];

/** Returns a public key of a client; undefined for a private, weak or unknown one. */
export function readClientKey(jwk: Record<string, unknown>): KeyObject | undefined {
  if (privateMembers.some((name) => Object.hasOwn(jwk, name))) return undefined;
  try {
    const key = createPublicKey({ key: jwk, format: 'jwk' });
    return isUsable(key) ? key : undefined;
  } catch {
    return undefined;
  }
}

function isUsable({ asymmetricKeyType: type, asymmetricKeyDetails: details }: KeyObject): boolean {
  if (type === 'ec') return details?.namedCurve === 'prime256v1';
  const bits = details?.modulusLength ?? 0;
  return type === 'rsa' && bits >= 2048 && bits <= 8192;
}

/** Whether a key can have made a signature of an algorithm. */
export function fitsAlgorithm(key: KeyObject, algorithm: ClientAlgorithm): boolean {
  return key.asymmetricKeyType === (algorithm === 'ES256' ? 'ec' : 'rsa');
}
