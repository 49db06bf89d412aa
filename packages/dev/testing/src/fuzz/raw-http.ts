import { connect, type Socket } from 'node:net';
import { brotliDecompressSync, gunzipSync } from 'node:zlib';
import type { FuzzRequest } from './request.arbitrary.ts';

/** A response as received. */
export interface RawAnswer {
  status: number;
  /** Headers by lower-case name; the last one of repeated headers. */
  headers: Map<string, string>;
  /** Without its content coding. */
  body: Buffer;
}

const patienceMs = 60_000;

/** The bytes of a request. Unlike an HTTP client, this checks and corrects nothing. */
export function bytesOf({ method, target, headers, body }: FuzzRequest): Buffer {
  const lines = [`${method} ${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`)];
  if (body !== undefined) lines.push(`Content-Length: ${body.length}`);
  const head = Buffer.from(`${lines.join('\r\n')}\r\n\r\n`, 'latin1');
  return body === undefined ? head : Buffer.concat([head, body]);
}

/** Sends bytes over a new connection and reads one response. Rejects when there is none or it is incomplete. */
export function exchange(port: number, bytes: Buffer, method: string): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    const socket: Socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    let received = Buffer.alloc(0);
    const fail = (error: Error) => {
      socket.destroy();
      reject(error);
    };
    socket.setTimeout(patienceMs, () => fail(new Error('No response arrived in time.')));
    socket.on('error', fail);
    socket.on('close', () =>
      fail(new Error(`The connection ended after ${received.length} bytes of a response.`)),
    );
    socket.on('data', (chunk) => {
      received = Buffer.concat([received, chunk]);
      const answer = readAnswer(received, method);
      if (answer === undefined) return;
      resolve(answer);
      socket.destroy();
    });
  });
}

function readAnswer(received: Buffer, method: string): RawAnswer | undefined {
  const end = received.indexOf('\r\n\r\n');
  if (end < 0) return undefined;
  const [statusLine = '', ...lines] = received.toString('latin1', 0, end).split('\r\n');
  const status = Number(/^HTTP\/1\.1 (\d{3})/.exec(statusLine)?.[1]);
  const rest = received.subarray(end + 4);
  // An interim response (`100 Continue`) precedes the final one.
  if (status < 200) return readAnswer(rest, method);
  const headers = new Map(
    lines.map((line): [string, string] => {
      const colon = line.indexOf(':');
      return [line.slice(0, colon).toLowerCase(), line.slice(colon + 1).trim()];
    }),
  );
  // A stream of events does not end.
  const isEmpty = method === 'HEAD' || status === 204 || status === 304 || isEventStream(headers);
  const body = isEmpty ? Buffer.alloc(0) : readBody(rest, headers);
  return body === undefined ? undefined : { status, headers, body: decode(body, headers) };
}

function isEventStream(headers: Map<string, string>): boolean {
  return headers.get('content-type') === 'text/event-stream';
}

function decode(body: Buffer, headers: Map<string, string>): Buffer {
  const coding = body.length === 0 ? undefined : headers.get('content-encoding');
  if (coding === undefined) return body;
  if (coding === 'gzip') return gunzipSync(body);
  if (coding === 'br') return brotliDecompressSync(body);
  throw new Error(`The content coding ${coding} is unknown.`);
}

function readBody(rest: Buffer, headers: Map<string, string>): Buffer | undefined {
  if (headers.get('transfer-encoding') === 'chunked') return readChunks(rest);
  const length = Number(headers.get('content-length') ?? 0);
  return rest.length < length ? undefined : rest.subarray(0, length);
}

function readChunks(rest: Buffer): Buffer | undefined {
  const chunks: Buffer[] = [];
  for (let from = 0; ; ) {
    const lineEnd = rest.indexOf('\r\n', from);
    if (lineEnd < 0) return undefined;
    const length = Number.parseInt(rest.toString('latin1', from, lineEnd), 16);
    const end = lineEnd + 2 + length;
    if (rest.length < end + 2) return undefined;
    if (length === 0) return Buffer.concat(chunks);
    chunks.push(rest.subarray(lineEnd + 2, end));
    from = end + 2;
  }
}
