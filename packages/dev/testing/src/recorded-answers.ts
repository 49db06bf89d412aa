import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { recordEmission } from './leaks.ts';

/**
 * The same listener; each answer, head and body, is kept for the leak scan as it leaves. `mayHoldTokens` tells which
 * answers tokens belong in.
 */
export function recordingAnswers(
  listener: RequestListener,
  mayHoldTokens: (request: IncomingMessage, response: ServerResponse) => boolean = () => false,
): RequestListener {
  return (request, response) => {
    const chunks: Buffer[] = [];
    const end = response.end.bind(response);
    const write = response.write.bind(response);
    const keep = (chunk: unknown) => {
      if (typeof chunk === 'string' || chunk instanceof Uint8Array) chunks.push(Buffer.from(chunk));
    };
    response.write = ((chunk: unknown, ...rest: never[]) => {
      keep(chunk);
      return write(chunk as string, ...rest);
    }) as ServerResponse['write'];
    response.end = ((chunk: unknown, ...rest: never[]) => {
      keep(chunk);
      return end(chunk as string, ...rest);
    }) as ServerResponse['end'];
    response.once('close', () => {
      const head = JSON.stringify(response.getHeaders());
      const where = `${request.method} ${request.url?.split('?')[0]} ${response.statusCode}`;
      recordEmission(where, `${head}\n${Buffer.concat(chunks)}`, mayHoldTokens(request, response));
    });
    listener(request, response);
  };
}
