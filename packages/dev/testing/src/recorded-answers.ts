import type { IncomingMessage, RequestListener, ServerResponse } from 'node:http';
import { recordEmission } from './leaks.ts';

export type MayHoldTokens = (request: IncomingMessage, response: ServerResponse) => boolean;

/** Wraps a listener and records each answer, head and body, for the leak scan. */
export function recordingAnswers(
  listener: RequestListener,
  mayHoldTokens: MayHoldTokens = () => false,
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
