import { createCipheriv, createDecipheriv, createHmac, hkdfSync } from 'node:crypto';
import { z } from 'zod';

const nonceBytes = 12;
const tagBytes = 16;

/**
 * Seals the places of a list whose order tells more than its items: the hour in which a person last used the service. The keys
 * come from the service tokens, which all replicas have, also after a restart. A place is sealed alike each time, so that equal
 * pages have equal links.
 */
export class PlaceSealer {
  readonly #keys: readonly { sealing: Buffer; nonces: Buffer }[];

  /** The first secret seals, all of them open. */
  constructor(secrets: readonly string[]) {
    const derive = (secret: string, purpose: string) =>
      Buffer.from(hkdfSync('sha256', secret, '', `tessera list places: ${purpose}`, 32));
    this.#keys = secrets.map((secret) => ({
      sealing: derive(secret, 'sealing'),
      nonces: derive(secret, 'nonces'),
    }));
  }

  seal(place: unknown): string {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('no secret');
    const content = JSON.stringify(place);
    const nonce = createHmac('sha256', key.nonces).update(content).digest().subarray(0, nonceBytes);
    const cipher = createCipheriv('aes-256-gcm', key.sealing, nonce);
    const sealed = Buffer.concat([cipher.update(content, 'utf8'), cipher.final()]);
    return Buffer.concat([nonce, cipher.getAuthTag(), sealed]).toString('base64url');
  }

  /** Returns a schema that opens a place and validates it. */
  sealed<Place>(schema: z.ZodType<Place>): z.ZodType<Place> {
    return z
      .string()
      .transform((text) => this.#open(Buffer.from(text, 'base64url')))
      .pipe(schema);
  }

  #open(bytes: Buffer): unknown {
    for (const { sealing } of this.#keys) {
      try {
        const options = { authTagLength: tagBytes };
        const decipher = createDecipheriv('aes-256-gcm', sealing, bytes.subarray(0, nonceBytes), options);
        decipher.setAuthTag(bytes.subarray(nonceBytes, nonceBytes + tagBytes));
        const content = decipher.update(bytes.subarray(nonceBytes + tagBytes));
        return JSON.parse(Buffer.concat([content, decipher.final()]).toString());
      } catch {
        // Sealed with another key, or changed.
      }
    }
    return undefined;
  }
}
