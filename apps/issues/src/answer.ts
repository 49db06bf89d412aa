import type { Response } from 'express';

/** An answer as a value: it can be sent, and it can be stored and sent again. */
export interface Answer {
  status: number;
  headers: Record<string, string>;
  /** JSON text. */
  body: string;
}

/** Sends an answer; caches keep it only where it says so itself. */
export function sendAnswer(response: Response, { status, headers, body }: Answer): void {
  response
    .status(status)
    .set({ 'Cache-Control': 'no-store', 'Content-Type': 'application/json; charset=utf-8', ...headers })
    .set('Content-Length', String(Buffer.byteLength(body)))
    .end(response.req.method === 'HEAD' ? undefined : body);
}
