import { constants, createHmac, type KeyObject, sign as signWith } from 'node:crypto';

/** Signs the first two parts of a compact JWS. */
export type Signer = (input: string) => Buffer;

export function rs256(key: KeyObject): Signer {
  return (input) => signWith('sha256', Buffer.from(input), key);
}

export function rs384(key: KeyObject): Signer {
  return (input) => signWith('sha384', Buffer.from(input), key);
}

export function rs512(key: KeyObject): Signer {
  return (input) => signWith('sha512', Buffer.from(input), key);
}

export function ps256(key: KeyObject): Signer {
  const padding = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
  return (input) => signWith('sha256', Buffer.from(input), { key, ...padding });
}

export function es256(key: KeyObject): Signer {
  return (input) => signWith('sha256', Buffer.from(input), { key, dsaEncoding: 'ieee-p1363' });
}

export function hs256(secret: string | Buffer): Signer {
  return (input) => createHmac('sha256', secret).update(input).digest();
}

/**
 * Creates a compact JWS (RFC 7515 3.1) without checks. Objects are serialised; text and bytes are used literally, so
 * that malformed parts can be signed correctly.
 */
export function createJws(header: unknown, payload: unknown, sign: Signer): string {
  return signParts(encode(header), encode(payload), sign);
}

/** Creates a compact JWS from encoded parts. */
export function signParts(header: string, payload: string, sign: Signer): string {
  const input = `${header}.${payload}`;
  return `${input}.${sign(input).toString('base64url')}`;
}

export function encode(part: unknown): string {
  const isLiteral = typeof part === 'string' || Buffer.isBuffer(part);
  return Buffer.from(isLiteral ? part : JSON.stringify(part)).toString('base64url');
}
