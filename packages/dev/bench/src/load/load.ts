/** What an answer must be; anything else fails the measurement. */
export interface Expectation {
  status: number;
  /** A part of the body. */
  contains?: string;
  /** The length of the body, for documents that stay as they are. */
  bytes?: number;
}

export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
  expect: Expectation;
}

/** Each connection sends what the answer before gave it: `refresh_token` is put between `before` and `after`. */
export interface Chain {
  /** What each connection begins with. */
  tokens: string[];
  before: string;
  after: string;
}

/** What a generator does to a server. */
export interface Load {
  /** Connections are dealt out to them in turn. */
  origins: string[];
  connections: number;
  /** Sent in turn, and again from the beginning. */
  requests: LoadRequest[];
  /** The index of the first request to send; default: 0. */
  firstRequest?: number;
  chain?: Chain;
  warmUpSeconds: number;
  seconds: number;
  /** In all, at fixed times; latency counts from then. Default: each connection sends as soon as it has an answer. */
  perSecond?: number;
  /** Ends after so many requests, however long they take. */
  total?: number;
}

/** What came of it within the window. */
export interface LoadResult {
  operations: number;
  /** Requests in the window and around it. */
  sent: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** The first answer that was not as expected, in the window or around it. */
  problem: string | undefined;
}

/** What a generator's process is told. */
export interface LoadOrder {
  id: number;
  load: Load;
}

/** What it tells: that the window opens, that it closes, how it was. */
export type LoadNews =
  | { id: number; event: 'opened' | 'closed' }
  | { id: number; event: 'done'; result: LoadResult }
  | { id: number; event: 'failed'; message: string };
