import { once } from 'node:events';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { clientDisconnected } from '@tessera/service-kit';
import { paceMin } from './attachment.ts';

/** How long a client may take for a part of a download: 128 KiB at the minimum speed, and a pause. */
const partMs = 15_000;

/** The bytes of a request's body, as they arrive. They give the request more time, if they are not too slow. */
export async function* incomingBytes(
  request: IncomingMessage,
  response: ServerResponse,
): AsyncGenerator<Uint8Array, void> {
  const pace = { bytesPerSecond: paceMin, arrived: 0 };
  request.pace = pace;
  const { expect } = request.headers;
  if (expect?.toLowerCase() === '100-continue' && request.httpVersion === '1.1') response.writeContinue();
  try {
    // Without `destroyOnReturn`, an error of the store would close the connection before the response.
    for await (const part of request.iterator({ destroyOnReturn: false })) {
      pace.arrived += part.length;
      yield part;
    }
  } catch {
    throw clientDisconnected();
  } finally {
    // The rest of a body that is refused is dropped; the connection may have another request after it.
    if (!request.readableEnded) request.resume();
  }
}

/** Sends bytes as fast as the client reads them, if it is not too slow. An error ends the connection, so that the client sees it. */
export async function sendBytes(bytes: AsyncIterable<Uint8Array>, response: ServerResponse): Promise<void> {
  const isClosed = closed(response);
  try {
    for await (const part of bytes) {
      if (response.destroyed) return;
      if (response.write(part)) continue;
      await once(response, 'drain', {
        signal: AbortSignal.any([AbortSignal.timeout(partMs), isClosed]),
      });
    }
    response.end();
  } catch {
    response.destroy();
  }
}

function closed(response: ServerResponse): AbortSignal {
  const controller = new AbortController();
  response.once('close', () => controller.abort());
  return controller.signal;
}
