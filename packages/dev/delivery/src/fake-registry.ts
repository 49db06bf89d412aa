import { createHash, type Hash, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/**
 * The part of the OCI distribution API that `docker push` needs. Keeps the manifests, and of each layer only the digest.
 * Engines accept a registry on localhost without TLS.
 */
export class FakeRegistry {
  /** The manifests by `name:tag`. */
  readonly manifests = new Map<string, string>();
  /** The sizes by digest. */
  readonly #blobs = new Map<string, number>();
  readonly #uploads = new Map<string, { hash: Hash; size: number }>();
  readonly #server = createServer((request, response) => {
    this.#answer(request, response).catch((error: unknown) => response.destroy(error as Error));
  });

  /** Returns the address, `localhost:<port>`. */
  async start(): Promise<string> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return `localhost:${(this.#server.address() as AddressInfo).port}`;
  }

  stop(): void {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { method, url = '' } = request;
    const { pathname, searchParams } = new URL(url, 'http://localhost');
    const [, name, kind, reference = ''] =
      /^\/v2\/(.+)\/(manifests|blobs\/uploads|blobs)\/(.*)$/.exec(pathname) ?? [];
    if (name === undefined) return void response.writeHead(200).end();
    if (kind === 'manifests') return this.#answerManifest(request, response, `${name}:${reference}`);
    if (kind === 'blobs') {
      const size = this.#blobs.get(reference);
      return void response.writeHead(size === undefined ? 404 : 200, { 'Content-Length': size ?? 0 }).end();
    }
    const id = method === 'POST' ? randomUUID() : reference;
    const upload = this.#uploads.get(id) ?? { hash: createHash('sha256'), size: 0 };
    this.#uploads.set(id, upload);
    for await (const chunk of request) {
      upload.hash.update(chunk);
      upload.size += chunk.length;
    }
    if (method !== 'PUT') {
      const location = `/v2/${name}/blobs/uploads/${id}`;
      const headers = { Location: location, Range: `0-${Math.max(upload.size - 1, 0)}` };
      return void response.writeHead(202, headers).end();
    }
    const digest = `sha256:${upload.hash.digest('hex')}`;
    if (digest !== searchParams.get('digest')) return void response.writeHead(400).end();
    this.#blobs.set(digest, upload.size);
    response.writeHead(201, { 'Docker-Content-Digest': digest }).end();
  }

  async #answerManifest(request: IncomingMessage, response: ServerResponse, image: string): Promise<void> {
    if (request.method !== 'PUT') return void response.writeHead(404).end();
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const text = Buffer.concat(chunks).toString();
    const missing = [...text.matchAll(/"digest":\s*"([^"]+)"/g)].filter(
      ([, digest = '']) => !this.#blobs.has(digest),
    );
    if (missing.length > 0) return void response.writeHead(400).end();
    this.manifests.set(image, text);
    const digest = `sha256:${createHash('sha256').update(text).digest('hex')}`;
    // An image for several platforms refers to other manifests.
    this.#blobs.set(digest, text.length);
    response.writeHead(201, { 'Docker-Content-Digest': digest }).end();
  }
}
