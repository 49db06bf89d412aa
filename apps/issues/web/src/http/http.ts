import type { Problem } from '@tessera/contracts';
import {
  appClientPaths,
  issuesPaths,
  type RequestOf,
  type RequestParts,
  type ResultOf,
  requestLine,
  webSessionPaths,
} from '@tessera/contracts/requests';
import { personOfPage, signInAgain } from '../sign-in/session-gate.ts';

/** An error response, or a failure of the network with status 0. */
export class HttpError extends Error {
  readonly status: number;
  readonly code: string;
  readonly body: Readonly<Record<string, unknown>>;

  /** The header `Retry-After`; a minute without it. */
  readonly retryAfterSeconds: number;

  constructor(status: number, body: Partial<Problem>, retryAfter: string | null = null) {
    const reasons = body.errors?.map(({ field, message }) => `${field} ${message}`).join('; ');
    super(reasons ?? body.detail ?? 'The request failed.');
    this.status = status;
    this.code = body.code ?? 'no_response';
    this.body = body;
    this.retryAfterSeconds = Number(retryAfter) || 60;
  }

  /** Whether the service may have handled the request: there is no response. */
  get isUnknown(): boolean {
    return this.status === 0;
  }

  /** Whether the same request can succeed later. */
  get isTransient(): boolean {
    return [0, 429, 502, 503, 504].includes(this.status);
  }
}

/** Says that a creation with an Idempotency-Key failed, or that it may have succeeded. */
export function notCreated(what: string, done: string, error: unknown): string {
  if (error instanceof HttpError && error.isUnknown)
    return `${what} may have been ${done}: ${lowerFirst(error.message)} Send it again; it is ${done} only once.`;
  return `${what} was not ${done}. ${error instanceof Error ? error.message : ''}`;
}

const lowerFirst = (text: string) => text.slice(0, 1).toLowerCase() + text.slice(1);

const appPaths = { ...webSessionPaths, ...appClientPaths };
const paths = { ...issuesPaths, ...appPaths };
export type OperationId = keyof typeof paths;

export interface RequestOptions {
  signal?: AbortSignal;
  /** Lets a creation be repeated without a second effect. */
  idempotencyKey?: string;
  /** Only if the resource still has this ETag. */
  ifMatch?: string;
}

type AnyRequest = RequestOptions & RequestParts & { readonly body?: unknown };

export interface Reply<Body> {
  body: Body;
  headers: Headers;
}

/** Whether the session is that of another person than the page. */
const isOtherUser = ({ status, code }: HttpError) => status === 409 && code === 'other_user';

// A 401 of these says that the e-mail address or the password is wrong, or that there is no session to end.
const withoutSession: readonly OperationId[] = ['getSession', 'startSession', 'endSession'];

// The storage of the tab has no passwords.
const neverStored: readonly OperationId[] = ['changeMyPassword', 'createUser'];

/** A change that waits until the person of the page has signed in, as far as it can be stored. */
export type RefusedRequest = { id: OperationId } & Pick<AnyRequest, 'idempotencyKey'> &
  RequestParts & { readonly body?: unknown };

const waiting = new Set<RefusedRequest>();

/** The changes that wait until the person of the page has signed in, the oldest first. */
export const refusedRequests = (): RefusedRequest[] => [...waiting];

/**
 * Calls an operation through the session. After the session has ended, or has become that of another person, waits until the
 * person of the page has signed in and repeats the request.
 */
export async function request<Id extends OperationId>(
  id: Id,
  options: RequestOf<Id> & RequestOptions,
): Promise<Reply<ResultOf<Id>>>;
export async function request(id: OperationId, options: AnyRequest): Promise<Reply<unknown>> {
  for (;;) {
    try {
      return await send(id, options);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      const isEnded = error.status === 401 && !withoutSession.includes(id);
      if (!isEnded && !isOtherUser(error)) throw error;
      const { signal: _, ...stored } = options;
      const refused = { id, ...stored };
      if (!paths[id].startsWith('GET') && !neverStored.includes(id)) waiting.add(refused);
      await signInAgain(isEnded ? 'ended' : 'other').finally(() => waiting.delete(refused));
    }
  }
}

/** Sends a stored change. */
export const repeat: (refused: RefusedRequest) => Promise<unknown> = ({ id, ...options }) =>
  request(id, options as RequestOf<typeof id>);

/** Returns the method and the URL of a request. The session has the API below `/app`. */
export function lineOf(id: OperationId, parts: RequestParts): { method: string; url: string } {
  const { method, path } = requestLine(paths[id], parts);
  return { method, url: id in appPaths ? path : `/app${path}` };
}

/** The greatest place in the database of which this tab has heard. Lists have to see it; see `X-Data-Position`. */
let position = '';

export function notePosition(heard: string | null | undefined): void {
  if (heard && heard > position) position = heard;
}

export const latestPosition = () => position;

// The service waits at most 30 s for a tracker.
const timeoutMs = 60_000;

async function send(id: OperationId, options: AnyRequest): Promise<Reply<unknown>> {
  const { body, signal, idempotencyKey, ifMatch } = options;
  const { method, url } = lineOf(id, options);
  const headers: Record<string, string> = { Accept: 'application/json' };
  // Forms of other sites cannot send this header.
  if (method !== 'GET') headers['X-Tessera-App'] = '1';
  else if (position !== '') headers['X-Data-Position'] = position;
  // The cookie may be that of another person by now, and the service refuses the request then.
  const person = personOfPage();
  if (person !== undefined) headers['X-Tessera-User'] = person;
  if (body !== undefined) headers['Content-Type'] = 'application/json';
  if (idempotencyKey !== undefined) headers['Idempotency-Key'] = idempotencyKey;
  if (ifMatch !== undefined) headers['If-Match'] = ifMatch;
  const init: RequestInit = { method, headers, credentials: 'same-origin', redirect: 'error' };
  if (body !== undefined) init.body = JSON.stringify(body);
  init.signal = AbortSignal.any([AbortSignal.timeout(timeoutMs), ...(signal === undefined ? [] : [signal])]);
  const exchange = async () => {
    const response = await fetch(url, init);
    return { response, text: await response.text() };
  };
  const { response, text } = await exchange().catch((error: unknown) => {
    if (signal?.aborted) throw error;
    throw new HttpError(0, { detail: 'The server cannot be reached.' });
  });
  const content: unknown = text === '' ? undefined : parseJson(text);
  if (!response.ok)
    throw new HttpError(
      response.status,
      (content ?? {}) as Partial<Problem>,
      response.headers.get('Retry-After'),
    );
  notePosition(response.headers.get('X-Data-Position'));
  return { body: content, headers: response.headers };
}

// A proxy may answer with HTML.
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/** Returns the cursor of the next page from a `Link` header. */
export function nextCursor(headers: Headers): string | undefined {
  const next = /<([^>]+)>;\s*rel="?next"?/.exec(headers.get('Link') ?? '')?.[1];
  return next === undefined
    ? undefined
    : (new URL(next, location.href).searchParams.get('cursor') ?? undefined);
}
