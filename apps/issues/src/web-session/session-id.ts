import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';

const pattern = /^[A-Za-z0-9_-]{43}$/;

/** The lifetime of the cookie: the longest that browsers accept. The row decides when the session ends. */
const maxAgeSeconds = 400 * 86_400;

/** Returns a new session id: 32 random bytes as 43 characters. */
export function newSessionId(): string {
  return randomBytes(32).toString('base64url');
}

/** Returns the key of a session's row. */
export function hashOf(sessionId: string): Buffer {
  return hash('sha256', sessionId, 'buffer');
}

/**
 * The cookie of the web app. Its prefix makes browsers refuse it without `Secure`, with `Domain` and from another path (RFC
 * 6265bis 4.1.3.2). Browsers refuse the prefix over http, so a service on a loopback address uses neither.
 */
export class SessionCookie {
  readonly name: string;
  readonly #attributes: string;

  constructor({ isSecure }: { isSecure: boolean }) {
    this.name = isSecure ? '__Host-tessera' : 'tessera';
    this.#attributes = `Path=/; ${isSecure ? 'Secure; ' : ''}HttpOnly; SameSite=Strict`;
  }

  /** Returns the session id of a request, or undefined if there is none or it is malformed. */
  read({ headers }: Pick<IncomingMessage, 'headers'>): string | undefined {
    const prefix = `${this.name}=`;
    const values = (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(prefix))
      .map((pair) => pair.slice(prefix.length));
    return values.find((value) => pattern.test(value));
  }

  /** The `Set-Cookie` of a new session. */
  set(sessionId: string): string {
    return `${this.name}=${sessionId}; Max-Age=${maxAgeSeconds}; ${this.#attributes}`;
  }

  /** The `Set-Cookie` that removes the cookie. */
  clear(): string {
    return `${this.name}=; Max-Age=0; ${this.#attributes}`;
  }
}
