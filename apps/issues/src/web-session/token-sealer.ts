import { createHash, type KeyObject, randomBytes } from 'node:crypto';
import { nonceBytes, openText, sealText } from '@tessera/service-kit';

/** The use of a sealed text. A sealed access token cannot be opened as a refresh token. */
export type TokenUse = 'access' | 'refresh' | 'id' | 'sign-in' | 'client';

const idBytes = 4;

interface SealingKey {
  /** The first bytes of the key's SHA-256. They tell which key has sealed a token. */
  id: Buffer;
  key: KeyObject;
}

/**
 * Seals tokens with AES-256-GCM. The first key seals, all keys open. The owner, such as a session, and the use are
 * authenticated, so a sealed token cannot be moved to another row or column. Format: key id, nonce, tag, ciphertext.
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

  seal(token: string, use: TokenUse, owner: Uint8Array): Buffer {
    const { id, key } = this.#first;
    const sealed = sealText(token, randomBytes(nonceBytes), { key, context: contextOf(use, owner) });
    return Buffer.concat([id, sealed]);
  }

  /** Returns the token, or undefined if no key opens it. */
  open(sealed: Uint8Array, use: TokenUse, owner: Uint8Array): string | undefined {
    const bytes = Buffer.from(sealed);
    const { key } = this.#keys.find(({ id }) => id.equals(bytes.subarray(0, idBytes))) ?? {};
    return key && openText(bytes.subarray(idBytes), { key, context: contextOf(use, owner) });
  }
}

function idOf(key: KeyObject): Buffer {
  return createHash('sha256').update(key.export()).digest().subarray(0, idBytes);
}

function contextOf(use: TokenUse, owner: Uint8Array): Buffer {
  return Buffer.concat([Buffer.from(`tessera ${use} token\0`), owner]);
}
