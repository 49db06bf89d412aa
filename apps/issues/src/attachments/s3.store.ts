import { AwsClient } from 'aws4fetch';
import { type BlobStore, type ByteRange, storageUnavailable } from './blob-store.ts';

/** A bucket, and the credentials for it. */
export interface S3Config {
  endpoint: string;
  bucket: string;
  region: string;
  accessKeyId: string;
  secretAccessKey: string;
}

/** How long the store may take for a part of a transfer, or for its answer. */
const patienceMs = 15_000;
const partBytes = 128 * 1024;

/** Bytes in a bucket of a service with the API of S3. */
export class S3Store implements BlobStore {
  readonly name = 's3';
  readonly #client: AwsClient;
  readonly #bucket: string;
  readonly #patienceMs: number;

  constructor({ endpoint, bucket, ...credentials }: S3Config, timeoutMs = patienceMs) {
    // A repeated request would need the bytes again.
    this.#client = new AwsClient({ ...credentials, service: 's3', retries: 0 });
    this.#bucket = `${endpoint}/${bucket}`;
    this.#patienceMs = timeoutMs;
  }

  async write(key: string, bytes: AsyncIterable<Uint8Array>, size: number): Promise<void> {
    const watch = new Patience(this.#patienceMs);
    let failed: { error: unknown } | undefined;
    // The time in which the client sends nothing is not that of the store.
    async function* source() {
      try {
        watch.pause();
        for await (const part of bytes) {
          watch.resume();
          yield part;
          watch.pause();
        }
      } catch (error) {
        failed = { error };
        throw error;
      } finally {
        watch.resume();
      }
    }
    try {
      const response = await this.#send(key, watch, {
        method: 'PUT',
        headers: { 'Content-Length': String(size) },
        ...(size === 0 ? { body: '' } : { body: ReadableStream.from(source()), duplex: 'half' }),
      });
      await this.#assertOk(response, [200]);
    } catch (error) {
      throw failed === undefined ? storageUnavailable(error) : failed.error;
    } finally {
      watch.end();
    }
  }

  async *read(key: string, { start, end }: ByteRange): AsyncGenerator<Uint8Array, void> {
    if (start === end) return;
    const watch = new Patience(this.#patienceMs);
    try {
      const headers = { Range: `bytes=${start}-${end - 1}` };
      const response = await this.#send(key, watch, { method: 'GET', headers });
      await this.#assertOk(response, [206]);
      let left = end - start;
      for await (const part of response.body ?? []) {
        watch.pause();
        left -= part.length;
        for (let from = 0; from < part.length; from += partBytes) yield part.subarray(from, from + partBytes);
        watch.resume();
      }
      if (left !== 0) throw new Error(`${left} bytes of ${key} are missing`);
    } catch (error) {
      throw storageUnavailable(error);
    } finally {
      watch.end();
    }
  }

  async delete(key: string): Promise<void> {
    const watch = new Patience(this.#patienceMs);
    try {
      await this.#assertOk(await this.#send(key, watch, { method: 'DELETE' }), [200, 204, 404]);
    } finally {
      watch.end();
    }
  }

  async check(): Promise<void> {
    const watch = new Patience(this.#patienceMs);
    try {
      await this.#assertOk(await this.#send('', watch, { method: 'HEAD' }), [200]);
    } finally {
      watch.end();
    }
  }

  async #send(key: string, { signal }: Patience, init: RequestInit): Promise<Response> {
    return this.#client.fetch(`${this.#bucket}${key === '' ? '' : '/'}${key}`, {
      ...init,
      redirect: 'error',
      signal,
    });
  }

  // The body of an error names the bucket and the key, but no secret.
  async #assertOk(response: Response, expected: readonly number[]): Promise<void> {
    const { status } = response;
    if (expected.includes(status)) {
      if (status !== 206) await response.arrayBuffer();
      return;
    }
    await response.body?.cancel();
    throw new Error(`the store answered with ${status}`);
  }
}

/** Ends a request in which the store does nothing for too long. */
class Patience {
  readonly #controller = new AbortController();
  readonly #ms: number;
  #timer: NodeJS.Timeout | undefined;
  #isOver = false;

  constructor(ms: number) {
    this.#ms = ms;
    this.resume();
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** The store waits for this process. */
  pause(): void {
    clearTimeout(this.#timer);
  }

  /** This process waits for the store. */
  resume(): void {
    clearTimeout(this.#timer);
    if (this.#isOver) return;
    this.#timer = setTimeout(() => this.#controller.abort(new Error('the store took too long')), this.#ms);
  }

  end(): void {
    this.#isOver = true;
    clearTimeout(this.#timer);
    // A response that is not read to its end closes its connection.
    this.#controller.abort();
  }
}
