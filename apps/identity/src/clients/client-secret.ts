import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';
import type { Client } from './client.ts';

/** How long the previous secret is valid after a rotation. */
export const rotationMs = 86_400_000;

/** A secret of 256 random bits. */
export function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

/** The form in which secrets, codes and cookies are stored. They are random, so a slow hash would protect nothing. */
export function sha256(secret: string | Uint8Array): Uint8Array<ArrayBuffer> {
  return new Uint8Array(createHash('sha256').update(secret).digest());
}

/** Whether a secret is one of the two that a client can have during a rotation. */
export function isSecretOf(
  { secretHash, previousSecretHash, previousSecretExpiresAt }: Client,
  presented: string,
): boolean {
  const digest = sha256(presented);
  const isPreviousValid = previousSecretExpiresAt !== null && previousSecretExpiresAt.getTime() > Date.now();
  const accepted = [secretHash, isPreviousValid ? previousSecretHash : null];
  return accepted.map((hash) => hash !== null && timingSafeEqual(hash, digest)).includes(true);
}
