import { randomUUID } from 'node:crypto';
import type { Request, Response } from 'express';

interface AppSession<Tokens> {
  /** The requests that are on their way, by `state`. */
  started: Map<string, { verifier: string; nonce: string }>;
  tokens: Tokens | undefined;
}

const cookieName = 'helpdesk';

/** Sessions in memory, for libraries without sessions of their own. The cookie must be Lax: the callback comes from another site. */
export class AppSessions<Tokens> {
  readonly #sessions = new Map<string, AppSession<Tokens>>();

  find(request: Request): AppSession<Tokens> | undefined {
    const cookies = request.headers.cookie?.split('; ') ?? [];
    const value = cookies.find((cookie) => cookie.startsWith(`${cookieName}=`))?.slice(cookieName.length + 1);
    return this.#sessions.get(value ?? '');
  }

  open(request: Request, response: Response): AppSession<Tokens> {
    const found = this.find(request);
    if (found !== undefined) return found;
    const id = randomUUID();
    const session: AppSession<Tokens> = { started: new Map(), tokens: undefined };
    this.#sessions.set(id, session);
    response.cookie(cookieName, id, { httpOnly: true, sameSite: 'lax' });
    return session;
  }
}
