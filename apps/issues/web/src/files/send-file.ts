import type { Attachment, Problem } from '@tessera/contracts';
import { HttpError, lineOf } from '../http/http.ts';
import { personOfPage, signInAgain } from '../sign-in/session-gate.ts';

interface Sending {
  id: string;
  name: string;
  bytes: Blob;
  signal: AbortSignal;
  /** @param part of all bytes, from 0 to 1 */
  onProgress: (part: number) => void;
}

/** Uploads a file. After the session has ended, waits for the sign-in and goes on. A repetition stores nothing twice. */
export async function sendFile(file: Sending): Promise<Attachment> {
  for (;;) {
    try {
      return await sendOnce(file);
    } catch (error) {
      if (!(error instanceof HttpError)) throw error;
      const isEnded = error.status === 401;
      if (!isEnded && error.code !== 'other_user') throw error;
      await signInAgain(isEnded ? 'ended' : 'other');
    }
  }
}

// `fetch` tells nothing of the progress of a request.
function sendOnce({ id, name, bytes, signal, onProgress }: Sending): Promise<Attachment> {
  const { method, url } = lineOf('uploadAttachment', { query: { name } });
  return new Promise((resolve, reject) => {
    signal.throwIfAborted();
    const request = new XMLHttpRequest();
    const abort = () => request.abort();
    signal.addEventListener('abort', abort);
    request.upload.onprogress = ({ loaded, total }) => onProgress(total === 0 ? 0 : loaded / total);
    request.onabort = () => reject(signal.reason);
    request.onload = () => {
      const body = bodyOf(request);
      if (request.status === 201 && body !== undefined) resolve(body as Attachment);
      else
        reject(
          new HttpError(
            request.status,
            (body ?? {}) as Partial<Problem>,
            request.getResponseHeader('Retry-After'),
          ),
        );
    };
    request.onerror = () => reject(new HttpError(0, { detail: 'The server cannot be reached.' }));
    request.onloadend = () => signal.removeEventListener('abort', abort);
    request.open(method, url);
    request.setRequestHeader('Accept', 'application/json');
    request.setRequestHeader('Content-Type', 'application/octet-stream');
    request.setRequestHeader('X-Tessera-App', '1');
    request.setRequestHeader('X-Tessera-User', personOfPage() ?? '');
    request.setRequestHeader('Idempotency-Key', id);
    request.send(bytes);
  });
}

// A proxy may answer with HTML.
function bodyOf({ responseText }: XMLHttpRequest): unknown {
  try {
    return JSON.parse(responseText);
  } catch {
    return undefined;
  }
}
