import type { IncomingMessage, ServerResponse } from 'node:http';
import { promisify } from 'node:util';
import { brotliCompress, constants, gzip } from 'node:zlib';
import { bodyText, type JsonResponse, sendJson } from './json-response.ts';

declare module 'node:http' {
  interface IncomingMessage {
    /** Returns the content coding that `Accept-Encoding` prefers; set by Express. */
    acceptsEncodings?: (...encodings: string[]) => string | false;
  }
}

const toGzip = promisify(gzip);
const toBrotli = promisify(brotliCompress);

// 0.3 ms for a page of 50 issues. Brotli's default quality takes hundreds of times as long for a tenth of the size. The smaller
// window limits the memory of a compression.
const { BROTLI_PARAM_QUALITY, BROTLI_PARAM_LGWIN, BROTLI_PARAM_SIZE_HINT } = constants;
const codings = {
  br: (text: Buffer) =>
    toBrotli(text, {
      params: {
        [BROTLI_PARAM_QUALITY]: 3,
        [BROTLI_PARAM_LGWIN]: 18,
        [BROTLI_PARAM_SIZE_HINT]: text.length,
      },
    }),
  gzip: (text: Buffer) => toGzip(text, { level: 3 }),
} as const;

type Coding = keyof typeof codings;
const codingNames = ['br', 'gzip'] as const satisfies Coding[];

/** Minimum length of a compressed body. A shorter one fits into a packet anyway. */
const lengthMin = 1024;
/** Maximum number of concurrent compressions. They take at most half of Node's four threads for such work. */
const concurrentMax = 2;
let inProgress = 0;

/**
 * Writes a response like `sendJson`, compressed if the client accepts it and the body is not short. Sends it as it is while
 * the maximum number of compressions is in progress. The body is compressed as a whole, so the response has its length
 * and is written at once: a client that does not read delays no compression, and its unsent bytes are counted.
 */
export function sendCompressed(response: ServerResponse, answer: JsonResponse): void | Promise<void> {
  const { req: request } = response;
  const headers: Record<string, string> = { ...answer.headers, Vary: varyBy(response) };
  const varying = { ...answer, headers };
  const { 'accept-encoding': accepted, 'if-none-match': known } = request.headers;
  if (answer.body === undefined) {
    const { ETag: etag } = headers;
    if (etag !== undefined && known !== undefined) headers.ETag = knownTag(known, etag);
    return sendJson(response, varying);
  }
  const coding = accepted === undefined ? undefined : preferredCoding(request, accepted);
  if (coding === undefined) return sendJson(response, varying);
  const body = bodyText(answer);
  if (body.length < lengthMin || inProgress >= concurrentMax) return sendJson(response, { ...varying, body });
  return writeCoded(response, { ...varying, body }, coding);
}

// RFC 9110 12.5.3. Without weights, the server chooses the shortest coding.
function preferredCoding(request: IncomingMessage, accepted: string): Coding | undefined {
  if (!accepted.includes(';')) return codingNames.find((name) => request.acceptsEncodings?.(name));
  const preferred = request.acceptsEncodings?.(...codingNames, 'identity');
  return codingNames.find((name) => name === preferred);
}

async function writeCoded(
  response: ServerResponse,
  { status, headers, body }: { status: number; headers: Record<string, string>; body: string },
  coding: Coding,
): Promise<void> {
  const { ETag: etag } = headers;
  const codedHeaders = {
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
    ...headers,
    ...(etag === undefined ? {} : { ETag: withCoding(etag, coding) }),
    'Content-Encoding': coding,
  };
  // The length would require the compression (RFC 9110 9.3.2).
  if (response.req.method === 'HEAD') {
    response.writeHead(status, codedHeaders).end();
    return;
  }
  inProgress += 1;
  const coded = await codings[coding](Buffer.from(body)).finally(() => {
    inProgress -= 1;
  });
  response.writeHead(status, { ...codedHeaders, 'Content-Length': coded.length }).end(coded);
}

function varyBy(response: ServerResponse): string {
  const others = response.getHeader('Vary');
  return others === undefined ? 'Accept-Encoding' : `${others}, Accept-Encoding`;
}

// RFC 9110 8.8.3.3: representations that differ only in their coding have different strong ETags. Weak ones are equal, because
// the content is equivalent. Our own ETags contain no "+".
function withCoding(etag: string, coding: Coding): string {
  return etag.startsWith('W/') ? etag : `${etag.slice(0, -1)}+${coding}"`;
}

/** Removes the codings from the ETags of a header. They name the representation, which a handler does not know. */
export function withoutCodings(header: string): string {
  return header.replace(/\+(?:br|gzip)"/g, '"');
}

// A 304 has the ETag of the representation that the client has.
function knownTag(known: string, etag: string): string {
  return codingNames.map((coding) => withCoding(etag, coding)).find((tag) => known.includes(tag)) ?? etag;
}
