import type { ServerResponse } from 'node:http';

/** An answer as a value: it can be sent, and it can be stored and sent again. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** JSON text. */
  body: string;
}

/** Sends an answer; caches keep it only where it says so itself. */
export function sendAnswer(response: ServerResponse, { status, headers, body }: Answer): void {
  response.writeHead(status, {
    'Cache-Control': 'no-store',
    'Content-Type': 'application/json; charset=utf-8',
    'Content-Length': Buffer.byteLength(body),
    ...headers,
  });
  response.end(response.req.method === 'HEAD' ? undefined : body);
}
