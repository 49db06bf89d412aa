/** The expected response. Any other response fails the measurement. */
export interface Expectation {
  status: number;
  /** A part of the body. */
  contains?: string;
  /** The length of the body, for documents that do not change. */
  bytes?: number;
}

export interface LoadRequest {
  method: 'GET' | 'POST';
  path: string;
  headers?: Record<string, string>;
  body?: string;
  expect: Expectation;
}

/** Each connection sends the `refresh_token` of the last response, between `before` and `after`. */
export interface TokenChain {
  /** The first token of each connection. */
  tokens: string[];
  before: string;
  after: string;
}

export interface Load {
  /** The servers; each connection is to the next one. */
  origins: string[];
  connections: number;
  /** Sent in turn, and again from the beginning. */
  requests: LoadRequest[];
  /** The index of the first request to send; default: 0. */
  firstRequest?: number;
  chain?: TokenChain;
  warmUpSeconds: number;
  seconds: number;
  /**
   * Requests per second of all connections, sent at fixed times from which their latency counts. Default: each connection
   * sends its next request as soon as it has a response.
   */
  perSecond?: number;
  /** Stops after this number of requests instead of `seconds`. */
  total?: number;
}

/** The responses within the window. */
export interface LoadResult {
  operations: number;
  /** The number of requests, including those before and after the window. */
  sent: number;
  seconds: number;
  p50Ms: number;
  p99Ms: number;
  /** The first response that was not as expected, within or outside of the window. */
  problem: string | undefined;
}

/** A message to the process of a load generator. */
export interface LoadOrder {
  id: number;
  load: Load;
}

/** A message from the process of a load generator. */
export type LoadEvent =
  | { id: number; event: 'opened' | 'closed' }
  | { id: number; event: 'done'; result: LoadResult }
  | { id: number; event: 'failed'; message: string };
