import {
  type KeyedId,
  type OperationsById,
  type RequestOf,
  type RequestParts,
  type ResultOf,
  requestLine,
} from '@tessera/contracts/requests';
import type { Transfer } from './file-transfer.ts';
import { ProblemError } from './problem-error.ts';
import { noResponse, problemOf, type RequestNames } from './response-problem.ts';
import { checkedBaseUrl } from './service-url.ts';
import { sleep, untilAborted } from './waiting.ts';

export interface TransportOptions {
  /** The URL of the service, such as `https://issues.example`; http or https, without a query and without credentials. */
  baseUrl: string;
  /** The global `fetch` by default. */
  fetch?: typeof fetch;
  /** Maximum time of a call with all its attempts, in milliseconds; 30,000 by default. */
  deadlineMs?: number;
  /** Maximum number of attempts; 4 by default. */
  attempts?: number;
  /**
   * Gets a warning, once for each member of a body that an operation ignored, such as a misspelled one. Writes it to the
   * console by default.
   */
  warn?: (message: string) => void;
}

/** Options of every call. */
export interface CallOptions {
  signal?: AbortSignal;
}

/** The size of the pages that an iteration reads, from 1 to 200; 50 by default. */
export interface PageSize {
  limit?: number;
}

/** The operations of an API: the method and the path of each, by id. */
type Paths = Readonly<Partial<Record<keyof OperationsById, string>>>;
type IdOf<Api extends Paths> = keyof Api & keyof OperationsById;
type ItemOf<List> = List extends readonly (infer Item)[] ? Item : never;

interface SendOptions extends CallOptions {
  headers?: Readonly<Record<string, string>>;
  /** Whether the request may be repeated because a repetition has no further effect. */
  isRepeatable?: boolean;
  /** A file instead of JSON, as body or as response. */
  transfer?: Transfer;
}

/** The request of an operation with its options. */
export type Call<Id extends keyof OperationsById> = RequestOf<Id> & SendOptions;
type AnyCall = RequestParts & SendOptions & { readonly body?: unknown };

export interface Reply<Body> {
  headers: Headers;
  /** The parsed JSON; undefined without a body, such as in a 304. */
  body: Body;
}

/** Adds a credential to a request. A call does not wait for it after its signal is aborted. */
export interface Credentials {
  headers(signal: AbortSignal): Promise<Record<string, string>>;
  /** Called once after a 401 with the refused headers. Returns whether to retry. */
  renew?(refused: Readonly<Record<string, string>>, signal: AbortSignal): Promise<boolean>;
}

interface Attempt {
  method: string;
  body: string | undefined;
  transfer: Transfer | undefined;
  headers: Readonly<Record<string, string>>;
  signal: AbortSignal;
  about: RequestNames;
}

// The service reads lists from a standby if that has what the client has seen.
const positionName = 'X-Data-Position';

const transientStatuses = new Set([429, 502, 503, 504]);
const backoffMs = 200;
const backoffMaxMs = 5_000;

// A lost response: the service still processes an earlier attempt with the same idempotency key.
const inProgress = 'request_in_progress';

/**
 * Sends calls as JSON. Retries reads and repeatable writes after a network error, 429, 502, 503, 504 and
 * `request_in_progress`, until the deadline. The delay is `Retry-After`, otherwise exponential backoff with jitter. Throws
 * `ProblemError`, the reason of the caller's signal, the error of the token source, or before any request a `TypeError` or
 * `RangeError` for an argument that cannot be sent.
 */
export class Transport<Api extends Paths> {
  readonly #paths: Api;
  readonly #options: TransportOptions;
  readonly #baseUrl: string;
  readonly #credentials: Credentials | undefined;
  readonly #warned = new Set<string>();
  /** The greatest position of the responses, which lists have to see. */
  #position: string | undefined;

  /** @throws TypeError for a `baseUrl` that is not one */
  constructor(paths: Api, options: TransportOptions, credentials?: Credentials) {
    this.#baseUrl = checkedBaseUrl(options.baseUrl);
    this.#paths = paths;
    this.#options = options;
    this.#credentials = credentials;
  }

  /** Returns the body of the response. */
  async call<Id extends IdOf<Api>>(id: Id, call: Call<Id>): Promise<ResultOf<Id>> {
    return (await this.send(id, call)).body;
  }

  /** Calls with an idempotency key, which is the same in all attempts. */
  once<Id extends IdOf<Api> & KeyedId>(id: Id, call: Call<Id>): Promise<ResultOf<Id>>;
  async once(id: IdOf<Api>, call: AnyCall): Promise<unknown> {
    const headers = { ...call.headers, 'Idempotency-Key': crypto.randomUUID() };
    return (await this.#send(id, { ...call, headers, isRepeatable: true })).body;
  }

  /** Reads with the ETag of an earlier response. Returns undefined if the response would be the same. */
  async readIfChanged<Id extends IdOf<Api>>(
    id: Id,
    etag: string | undefined,
    call: Call<Id>,
  ): Promise<(Reply<ResultOf<Id>> & { etag: string }) | undefined> {
    const headers: Record<string, string> = etag === undefined ? {} : { 'If-None-Match': etag };
    const reply = await this.send(id, { ...call, headers });
    return reply.body === undefined ? undefined : { ...reply, etag: reply.headers.get('ETag') ?? '' };
  }

  /** Iterates over the items of all pages of a list. */
  pages<Id extends IdOf<Api>>(id: Id, call: Call<Id>): AsyncGenerator<ItemOf<ResultOf<Id>>, void>;
  async *pages(id: IdOf<Api>, call: AnyCall): AsyncGenerator<unknown, void> {
    let query: RequestParts['query'] = call.query ?? {};
    while (query !== undefined) {
      const { body, headers } = await this.#send(id, { ...call, query });
      for (const item of body as unknown[]) {
        yield item;
        call.signal?.throwIfAborted();
      }
      query = nextQuery(headers);
    }
  }

  send<Id extends IdOf<Api>>(id: Id, call: Call<Id>): Promise<Reply<ResultOf<Id>>>;
  send(id: IdOf<Api>, call: AnyCall): Promise<Reply<unknown>> {
    return this.#send(id, call);
  }

  async #send(id: IdOf<Api>, call: AnyCall): Promise<Reply<unknown>> {
    call.signal?.throwIfAborted();
    const { method, path } = requestLine(this.#paths[id] ?? '', call);
    const url = `${this.#baseUrl}${path}`;
    const about = { method, url: url.replace(/\?.*$/, '') };
    const body = call.body === undefined ? undefined : JSON.stringify(call.body);
    const { attempts = 4 } = this.#options;
    const deadlineMs = (this.#options.deadlineMs ?? 30_000) + (call.transfer?.furtherMs ?? 0);
    const deadline = AbortSignal.timeout(deadlineMs);
    const endsAt = Date.now() + deadlineMs;
    const signal = call.signal === undefined ? deadline : AbortSignal.any([call.signal, deadline]);
    const isRepeatable = call.isRepeatable ?? (method === 'GET' || method === 'OPTIONS');
    const credentials = this.#credentials;
    // The deadline ends a call as a lost response does.
    const inTime = <Value>(work: Promise<Value>): Promise<Value> =>
      untilAborted(work, signal).catch((error: unknown) => {
        throw deadline.aborted && error === deadline.reason ? noResponse(error, about) : error;
      });
    let isRenewed = false;
    for (let attempt = 1; ; attempt += 1) {
      const credential = credentials === undefined ? {} : await inTime(credentials.headers(signal));
      const outcome = await this.#attempt(url, {
        method,
        body,
        transfer: call.transfer,
        headers: { ...this.#positionFor(method), ...credential, ...call.headers },
        signal,
        about,
      });
      if (!(outcome instanceof ProblemError)) {
        this.#warnOfIgnored(id, outcome.headers);
        this.#keepPosition(outcome.headers);
        return outcome;
      }
      call.signal?.throwIfAborted();
      if (outcome.status === 401 && !isRenewed && credentials?.renew !== undefined) {
        isRenewed = await inTime(credentials.renew(credential, signal));
        if (isRenewed) continue;
      }
      const waitMs = outcome.retryAfterMs ?? jitter(Math.min(backoffMaxMs, backoffMs * 2 ** attempt));
      if (!isTransient(outcome) || !isRepeatable || attempt >= attempts || Date.now() + waitMs >= endsAt)
        throw outcome;
      await sleep(waitMs, call.signal);
    }
  }

  #keepPosition(headers: Headers): void {
    const position = headers.get(positionName);
    if (position !== null && position > (this.#position ?? '')) this.#position = position;
  }

  #positionFor(method: string): Record<string, string> {
    return method === 'GET' && this.#position !== undefined ? { [positionName]: this.#position } : {};
  }

  #warnOfIgnored(id: IdOf<Api>, headers: Headers): void {
    for (const name of headers.get('X-Ignored-Fields')?.split(', ') ?? []) {
      const key = `${id} ${name}`;
      if (this.#warned.has(key)) continue;
      this.#warned.add(key);
      const { warn = writeWarning } = this.#options;
      warn(`${id}: the service does not know the member "${name}" of the body, and ignored it.`);
    }
  }

  // Returns an error response, and a failure of the network, as ProblemError.
  async #attempt(
    url: string,
    { method, body, transfer, headers, signal, about }: Attempt,
  ): Promise<Reply<unknown> | ProblemError> {
    const { fetch: send = fetch } = this.#options;
    const type = body === undefined ? {} : { 'Content-Type': 'application/json' };
    try {
      const response = await send(url, {
        method,
        headers: { Accept: 'application/json', ...type, ...headers },
        ...(body === undefined ? {} : { body }),
        ...transfer?.send?.(headers),
        redirect: 'error',
        signal,
      });
      if (response.ok && transfer?.receive !== undefined)
        return { headers: response.headers, body: await transfer.receive(response) };
      const text = await response.text();
      const parsed = text === '' ? undefined : parseJson(text);
      const isNotModified = response.status === 304;
      if ((!response.ok && !isNotModified) || parsed === invalidJson)
        return problemOf(response, parsed, about);
      return { headers: response.headers, body: parsed };
    } catch (error) {
      return noResponse(error, about);
    }
  }
}

/** Whether a repeated request may succeed. */
export function isTransient(error: unknown): boolean {
  if (!(error instanceof ProblemError)) return false;
  const { status, code } = error;
  return code === 'no_response' || transientStatuses.has(status) || code === inProgress;
}

/**
 * Returns the query of the next page from `Link`. Ignores the rest of the URL, so that the credential is never sent to
 * another server.
 */
function nextQuery(headers: Headers): Record<string, string[]> | undefined {
  const link = /<([^<>]*)>;\s*rel="next"/.exec(headers.get('Link') ?? '')?.[1];
  if (link === undefined) return undefined;
  const { searchParams } = new URL(link, 'http://relative');
  return Object.fromEntries(
    [...new Set(searchParams.keys())].map((name) => [name, searchParams.getAll(name)]),
  );
}

function writeWarning(message: string): void {
  // biome-ignore lint/suspicious/noConsole: the console of the program that uses the client
  console.warn(message);
}

const invalidJson = Symbol('invalid JSON');

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return invalidJson;
  }
}

function jitter(ms: number): number {
  return ms * (0.5 + Math.random() / 2);
}
