import { randomBytes } from 'node:crypto';

const secretBytes = 32;
const idBytes = 16;

/** The secret of a code: 256 random bits. Only its hash is stored. */
export function newCodeSecret(): Buffer {
  return randomBytes(secretBytes);
}

/** A code: its secret and its person, so that the quota of the person is known before the code is used. */
export function codeOf(secret: Uint8Array, identityId: string): string {
  return Buffer.concat([secret, Buffer.from(identityId.replaceAll('-', ''), 'hex')]).toString('base64url');
}

/** Reads a code. Undefined if it has not the form of one. */
export function readCode(code: string): { secret: Uint8Array; identityId: string } | undefined {
  const bytes = Buffer.from(code, 'base64url');
  if (bytes.length !== secretBytes + idBytes || bytes.toString('base64url') !== code) return undefined;
  const parts = /^(.{8})(.{4})(.{4})(.{4})(.{12})$/.exec(bytes.subarray(secretBytes).toString('hex')) ?? [];
  return { secret: bytes.subarray(0, secretBytes), identityId: parts.slice(1).join('-') };
}
