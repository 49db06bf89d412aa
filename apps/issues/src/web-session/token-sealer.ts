import { createCipheriv, createDecipheriv, createHash, type KeyObject, randomBytes } from 'node:crypto';

/** The use of a sealed token. A sealed access token cannot be opened as a refresh token. */
export type TokenUse = 'access' | 'refresh';

const algorithm = 'aes-256-gcm';
const idBytes = 4;
const nonceBytes = 12;
const tagBytes = 16;

interface SealingKey {
  /** The first bytes of the key's SHA-256. They tell which key has sealed a token. */
  id: Buffer;
  key: KeyObject;
}

/**
 * Seals tokens with AES-256-GCM. The first key seals, all keys open. The session and the use are authenticated, so a sealed
 * token cannot be moved to another row or column. Format: key id, nonce, tag, ciphertext.
 */
export class TokenSealer {
  readonly #keys: readonly SealingKey[];
  readonly #first: SealingKey;

  /** `keys`: at least one key of 32 bytes. */
  constructor(keys: readonly KeyObject[]) {
    this.#keys = keys.map((key) => ({ key, id: idOf(key) }));
    const [first] = this.#keys;
    if (first === undefined) throw new TypeError('keys must not be empty');
    this.#first = first;
  }

  seal(token: string, use: TokenUse, sessionId: Uint8Array): Buffer {
    const { id, key } = this.#first;
    const nonce = randomBytes(nonceBytes);
    const cipher = createCipheriv(algorithm, key, nonce).setAAD(contextOf(use, sessionId));
    const ciphertext = Buffer.concat([cipher.update(token, 'utf8'), cipher.final()]);
    return Buffer.concat([id, nonce, cipher.getAuthTag(), ciphertext]);
  }

  /** Returns the token, or undefined if no key opens it. */
  open(sealed: Uint8Array, use: TokenUse, sessionId: Uint8Array): string | undefined {
    const bytes = Buffer.from(sealed);
    const { key } = this.#keys.find(({ id }) => id.equals(bytes.subarray(0, idBytes))) ?? {};
    if (key === undefined) return undefined;
    const [tagAt, textAt] = [idBytes + nonceBytes, idBytes + nonceBytes + tagBytes];
    try {
      const decipher = createDecipheriv(algorithm, key, bytes.subarray(idBytes, tagAt), {
        authTagLength: tagBytes,
      })
        .setAAD(contextOf(use, sessionId))
        .setAuthTag(bytes.subarray(tagAt, textAt));
      return Buffer.concat([decipher.update(bytes.subarray(textAt)), decipher.final()]).toString('utf8');
    } catch {
      return undefined;
    }
  }
}

function idOf(key: KeyObject): Buffer {
  return createHash('sha256').update(key.export()).digest().subarray(0, idBytes);
}

function contextOf(use: TokenUse, sessionId: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`tessera ${use} token\0`), sessionId]);
}
