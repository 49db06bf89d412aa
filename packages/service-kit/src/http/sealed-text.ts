import { type CipherKey, createCipheriv, createDecipheriv } from 'node:crypto';

const algorithm = 'aes-256-gcm';
const tagBytes = 16;
/** The size of a nonce. A nonce is used once with a key, or always for the same text. */
export const nonceBytes = 12;

interface Sealing {
  /** 32 bytes. */
  key: CipherKey;
  /** Authenticated, but not part of the sealed text: it opens with the same context only. */
  context?: Uint8Array;
}

/** Encrypts and authenticates a text with AES-256-GCM. Format: nonce, tag, ciphertext. */
export function sealText(text: string, nonce: Uint8Array, { key, context = Buffer.of() }: Sealing): Buffer {
  const cipher = createCipheriv(algorithm, key, nonce).setAAD(context);
  const ciphertext = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

/** Returns the text; undefined if it was sealed with another key or context, or changed. */
export function openText(sealed: Uint8Array, { key, context = Buffer.of() }: Sealing): string | undefined {
  const textAt = nonceBytes + tagBytes;
  try {
    const decipher = createDecipheriv(algorithm, key, sealed.subarray(0, nonceBytes), {
      authTagLength: tagBytes,
    })
      .setAAD(context)
      .setAuthTag(sealed.subarray(nonceBytes, textAt));
    return Buffer.concat([decipher.update(sealed.subarray(textAt)), decipher.final()]).toString('utf8');
  } catch {
    return undefined;
  }
}
