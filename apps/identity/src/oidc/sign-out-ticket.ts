import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import type { IdTokenHint } from './own-jwt.ts';

type SignIn = Pick<IdTokenHint, 'sid' | 'sub'>;

/** Names a sign-in in the form of the page that asks, which must not repeat the ID token. No one else can make one. */
export class SignOutTickets {
  readonly #key: Buffer;

  constructor(secret: string) {
    this.#key = Buffer.from(hkdfSync('sha256', secret, '', 'tessera sign-out tickets', 32));
  }

  create({ sid, sub }: SignIn): string {
    return `${sid}.${sub}.${this.#sign(sid, sub).toString('base64url')}`;
  }

  /** Returns the sign-in, if this service has named it. */
  read(ticket: string | undefined): SignIn | undefined {
    const [sid = '', sub = '', signature = ''] = ticket?.split('.') ?? [];
    const given = Buffer.from(signature, 'base64url');
    const own = this.#sign(sid, sub);
    return given.length === own.length && timingSafeEqual(given, own) ? { sid, sub } : undefined;
  }

  #sign(sid: string, sub: string): Buffer {
    return createHmac('sha256', this.#key).update(`${sid}.${sub}`).digest();
  }
}
