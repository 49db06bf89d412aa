/** The bytes of a file. */
export type FileBytes = Blob | Uint8Array<ArrayBuffer>;

/** Called with the bytes that are sent or received so far, and all of them. */
export type OnProgress = (bytes: number, total: number) => void;

/** What a request with a file, or a response with one, has instead of JSON. */
export interface Transfer {
  /** Returns what an attempt sends. */
  send?: (headers: Readonly<Record<string, string>>) => RequestInit;
  receive?: (response: Response) => Promise<unknown>;
  /** The time that a file may take beyond that of other calls. */
  furtherMs: number;
}

// The service refuses slower transfers.
const bytesPerMs = 16;
const partBytes = 64 * 1024;
const bytesMax = 25 * 1024 * 1024;

/** Sends a file. Each attempt sends it from its beginning. */
export function sending(file: Blob, onProgress: OnProgress | undefined): Transfer {
  const type = { 'Content-Type': 'application/octet-stream' };
  return {
    furtherMs: Math.ceil(file.size / bytesPerMs),
    send: (headers) => {
      // Browsers send streams over some connections only, and tell no progress of anything else.
      if (onProgress === undefined || 'XMLHttpRequest' in globalThis)
        return { headers: { ...headers, ...type }, body: file };
      const body = inParts(file).pipeThrough(counting(file.size, onProgress));
      const init = {
        headers: { ...headers, ...type, 'Content-Length': `${file.size}` },
        body,
        duplex: 'half',
      };
      return init as RequestInit;
    },
  };
}

/** Receives a file as a blob with its type. */
export function receiving(onProgress: OnProgress | undefined): Transfer {
  return {
    furtherMs: Math.ceil(bytesMax / bytesPerMs),
    receive: async ({ body, headers }) => {
      const total = Number(headers.get('Content-Length'));
      const type = headers.get('Content-Type') ?? '';
      const counted = onProgress === undefined ? body : body?.pipeThrough(counting(total, onProgress));
      return new Blob([await new Response(counted ?? null).arrayBuffer()], { type });
    },
  };
}

/** The digest by which the service finds a broken transfer; none on a page that is not secure. */
export async function digestHeader(file: Blob): Promise<Record<string, string>> {
  if (crypto.subtle === undefined) return {};
  const digest = await crypto.subtle.digest('SHA-256', await file.arrayBuffer());
  return { 'Repr-Digest': `sha-256=:${btoa(String.fromCharCode(...new Uint8Array(digest)))}:` };
}

// The stream of a blob may be one part.
function inParts(file: Blob): ReadableStream<Uint8Array<ArrayBuffer>> {
  let from = 0;
  return new ReadableStream({
    pull: async (controller) => {
      if (from >= file.size) return controller.close();
      const part = file.slice(from, from + partBytes);
      from += partBytes;
      controller.enqueue(new Uint8Array(await part.arrayBuffer()));
    },
  });
}

function counting(total: number, onProgress: OnProgress) {
  let bytes = 0;
  return new TransformStream<Uint8Array<ArrayBuffer>, Uint8Array<ArrayBuffer>>({
    transform: (part, controller) => {
      bytes += part.length;
      controller.enqueue(part);
      onProgress(bytes, total);
    },
  });
}
