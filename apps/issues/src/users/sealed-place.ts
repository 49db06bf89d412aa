import { hkdfSync, randomBytes } from 'node:crypto';
import { nonceBytes, openText, sealText } from '@tessera/service-kit';
import { z } from 'zod';

/**
 * Seals the places of a list whose order tells more than its items: the hour in which a person last used the service. The keys
 * come from the service tokens, which all replicas have, also after a restart. A place is sealed differently each time: that it
 * is still the same would tell that the person has not come back.
 */
export class PlaceSealer {
  readonly #keys: readonly Buffer[];

  /** The first secret seals, all of them open. */
  constructor(secrets: readonly string[]) {
    this.#keys = secrets.map((secret) =>
      Buffer.from(hkdfSync('sha256', secret, '', 'tessera list places: sealing', 32)),
    );
  }

  seal(place: unknown): string {
    const [key] = this.#keys;
    if (key === undefined) throw new Error('no secret');
    return sealText(JSON.stringify(place), randomBytes(nonceBytes), { key }).toString('base64url');
  }

  /** Returns a schema that opens a place and validates it. */
  sealed<Place>(schema: z.ZodType<Place>): z.ZodType<Place> {
    return z
      .string()
      .transform((text) => this.#open(Buffer.from(text, 'base64url')))
      .pipe(schema);
  }

  #open(bytes: Buffer): unknown {
    for (const key of this.#keys) {
      const content = openText(bytes, { key });
      if (content !== undefined) return JSON.parse(content);
    }
    return undefined;
  }
}
