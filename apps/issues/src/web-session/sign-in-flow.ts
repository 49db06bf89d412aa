import { hash, randomBytes } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { z } from 'zod';
import { pagePaths } from '../web-app/web-app.ts';
import type { TokenSealer } from './token-sealer.ts';

/** A sign-in on identity's pages that a browser has begun. */
export interface SignInFlow {
  /** Comes back with the code, and finds the flow. */
  state: string;
  /** Comes back in the ID token. */
  nonce: string;
  /** The code verifier of PKCE. */
  verifier: string;
  /** The path of the app to which the sign-in returns. */
  target: string;
  /** The id of the session that the sign-in replaces. */
  replaced?: string | undefined;
}

const flowSchema = z.object({
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  target: z.string(),
  replaced: z.string().optional(),
  startedAt: z.number(),
});
type StoredFlow = z.output<typeof flowSchema>;

const lifeSeconds = 600;
// With the longest targets, the cookies of all flows stay below the 8 KiB that a proxy accepts as one header.
const maxFlows = 6;

const random = () => randomBytes(32).toString('base64url');

/** The code challenge of a verifier (RFC 7636 4.2). */
export function challengeOf(verifier: string): string {
  return hash('sha256', verifier, 'base64url');
}

/**
 * Keeps each flow in a sealed cookie of its own for ten minutes, so that the tabs of a browser do not disturb each other. A
 * `Lax` cookie is sent when identity leads the browser back; a `Strict` one would be missing (design trap 3).
 */
export class SignInFlows {
  readonly #sealer: TokenSealer;
  readonly #prefix: string;
  readonly #attributes: string;
  readonly #now: () => number;

  constructor({
    sealer,
    isSecure,
    now = Date.now,
  }: { sealer: TokenSealer; isSecure: boolean; now?: () => number }) {
    this.#sealer = sealer;
    this.#prefix = isSecure ? '__Host-tessera-sign-in-' : 'tessera-sign-in-';
    this.#attributes = `Path=/; ${isSecure ? 'Secure; ' : ''}HttpOnly; SameSite=Lax`;
    this.#now = now;
  }

  /** Begins a flow. @returns it with the `Set-Cookie` values: its own, and those that remove the oldest of too many flows */
  begin(
    request: Pick<IncomingMessage, 'headers'>,
    { target, replaced }: Pick<SignInFlow, 'target' | 'replaced'>,
  ): { flow: SignInFlow; cookies: string[] } {
    const flow = { state: random(), nonce: random(), verifier: random(), target, replaced };
    const name = this.#nameOf(flow.state);
    const text = JSON.stringify({ ...flow, startedAt: this.#now() } satisfies StoredFlow);
    const sealed = this.#sealer.seal(text, 'sign-in', Buffer.from(name)).toString('base64url');
    const older = this.#read(request).sort((left, right) => right.startedAt - left.startedAt);
    return {
      flow,
      cookies: [
        `${name}=${sealed}; Max-Age=${lifeSeconds}; ${this.#attributes}`,
        ...older.slice(maxFlows - 1).map((one) => this.#clear(one.name)),
      ],
    };
  }

  /** Ends the flow of a state. @returns it with the `Set-Cookie` that removes it; undefined if this browser did not begin it in time */
  end(
    request: Pick<IncomingMessage, 'headers'>,
    state: string | undefined,
  ): { flow: SignInFlow; cookie: string } | undefined {
    const found = this.#read(request).find((one) => one.flow?.state === state);
    if (found?.flow === undefined || this.#now() - found.startedAt > lifeSeconds * 1000) return undefined;
    return { flow: found.flow, cookie: this.#clear(found.name) };
  }

  #nameOf(state: string): string {
    return `${this.#prefix}${state.slice(0, 8)}`;
  }

  #clear(name: string): string {
    return `${name}=; Max-Age=0; ${this.#attributes}`;
  }

  // A cookie that does not open is the oldest, so it is removed first.
  #read({ headers }: Pick<IncomingMessage, 'headers'>) {
    return (headers.cookie ?? '')
      .split(';')
      .map((pair) => pair.trim())
      .filter((pair) => pair.startsWith(this.#prefix))
      .map((pair) => {
        const [name = '', value = ''] = pair.split('=');
        const flow = this.#open(name, value);
        return { name, flow, startedAt: flow?.startedAt ?? 0 };
      });
  }

  #open(name: string, value: string): StoredFlow | undefined {
    const text = this.#sealer.open(Buffer.from(value, 'base64url'), 'sign-in', Buffer.from(name));
    return text === undefined ? undefined : flowSchema.safeParse(JSON.parse(text)).data;
  }
}

const maxTargetLength = 512;
// A sign-in that returns to the page of the sign-in would go in circles.
const ownPlaces = new Set(pagePaths.map((path) => path.split('/')[1]).filter((place) => place !== 'sign-in'));

/** Returns the path if it is one of the app's pages, or else that of the list. Another site may have written it. */
export function ownTarget(text: string | undefined, origin: string): string {
  const fallback = '/issues';
  if (text === undefined || text.length > maxTargetLength || !URL.canParse(text, origin)) return fallback;
  const { origin: given, pathname, search, hash: fragment } = new URL(text, origin);
  const target = pathname + search + fragment;
  const isOwn = given === origin && ownPlaces.has(pathname.split('/')[1]);
  return isOwn && target.length <= maxTargetLength ? target : fallback;
}
