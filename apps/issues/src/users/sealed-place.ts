import { createHmac, hkdfSync } from 'node:crypto';
import { nonceBytes, openText, sealText } from '@tessera/service-kit';
import { z } from 'zod';

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
    return sealText(content, nonce, { key: key.sealing }).toString('base64url');
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
      const content = openText(bytes, { key: sealing });
      if (content !== undefined) return JSON.parse(content);
    }
    return undefined;
  }
}
