import { randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { sha256 } from '../clients/client-secret.ts';
import { absoluteSeconds } from './sso-session.ts';

/** The cookie of the sign-in of a browser. Scripts cannot read it; other sites cannot send it with their forms. */
export class SsoCookie {
  readonly #name: string;
  readonly #attributes: string;

  constructor(publicUrl: string) {
    const isSecure = publicUrl.startsWith('https:');
    // With the prefix, browsers accept the cookie from this host only, not from its subdomains.
    this.#name = isSecure ? '__Host-tessera-sso' : 'tessera-sso';
    // A Strict cookie would be missing when an application sends a browser here.
    this.#attributes = `; Path=/; HttpOnly; SameSite=Lax${isSecure ? '; Secure' : ''}`;
  }

  /** The hash of the cookie of a request; undefined without one. Of several, no one counts. */
  hashOf({ headers }: Pick<IncomingMessage, 'headers'>): Uint8Array | undefined {
    const values = (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(`${this.#name}=`))
      .map((pair) => pair.slice(this.#name.length + 1));
    const [value] = values;
    return values.length === 1 && /^[A-Za-z0-9_-]{43}$/.test(value ?? '') ? sha256(value ?? '') : undefined;
  }

  /** Makes a cookie. Each sign-in has a new one, so that a planted one is worth nothing (session fixation). */
  create(): { hash: Uint8Array; header: string } {
    const value = randomBytes(32).toString('base64url');
    return {
      hash: sha256(value),
      header: `${this.#name}=${value}; Max-Age=${absoluteSeconds}${this.#attributes}`,
    };
  }

  /** The header that deletes the cookie. */
  get expired(): string {
    return `${this.#name}=; Max-Age=0${this.#attributes}`;
  }
}
