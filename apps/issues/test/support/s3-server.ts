import { fork } from 'node:child_process';
import { EventEmitter, once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse, request as send } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { AwsClient } from 'aws4fetch';

/**
 * What happens to a request: it is late, its connection ends before it or after its effect, it is refused, or its body or that of the
 * response ends in the middle.
 */
export const storeFaults = ['delay', 'reset', 'reset_after', 'error', 'forbidden', 'truncated'] as const;
export type StoreFault = (typeof storeFaults)[number];

const bucket = 'files';
const credentials = { accessKeyId: 'S3RVER', secretAccessKey: 'S3RVER' };

export type S3Server = Awaited<ReturnType<typeof startS3Server>>;

/** Starts a server with the API of S3 behind a proxy with faults. */
export async function startS3Server() {
  const directory = await mkdtemp(join(tmpdir(), 'files-'));
  const script = fileURLToPath(new URL('s3rver-process.ts', import.meta.url));
  const server = fork(script, [directory, bucket], {
    execArgv: ['--import', 'tsx'],
    env: { PATH: process.env.PATH },
  });
  const ended = once(server, 'exit');
  const [{ port }] = (await once(server, 'message')) as [{ port: number }];
  let faultOf: (method: string) => StoreFault | undefined = () => undefined;
  const arrivals = new EventEmitter();
  const proxy = createServer((request, response) => {
    arrivals.emit(request.method ?? '');
    forward(request, response, port, faultOf(request.method ?? '')).catch(() => response.destroy());
  });
  await once(proxy.listen(0, '127.0.0.1'), 'listening');
  const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}`;
  const client = new AwsClient({ ...credentials, service: 's3', region: 'us-east-1', retries: 0 });
  return {
    url,
    environment: {
      ATTACHMENT_STORE: 's3',
      S3_ENDPOINT: url,
      S3_BUCKET: bucket,
      S3_ACCESS_KEY_ID: credentials.accessKeyId,
      S3_SECRET_ACCESS_KEY: credentials.secretAccessKey,
    },
    /** Sets the fault of each request from now on, by its method. */
    setFaults: (faults: (method: string) => StoreFault | undefined) => {
      faultOf = faults;
    },
    /** Resolves when the next request with this method arrives. */
    arrival: async (method: string): Promise<void> => {
      await once(arrivals, method);
    },
    /** The keys of all objects, read without faults. */
    keys: async (): Promise<string[]> => {
      const response = await client.fetch(`http://127.0.0.1:${port}/${bucket}?list-type=2&max-keys=1000`);
      return Array.from((await response.text()).matchAll(/<Key>([^<]+)<\/Key>/g), ([, key = '']) => key);
    },
    close: async () => {
      proxy.closeAllConnections();
      await new Promise((resolve) => proxy.close(resolve));
      server.kill();
      await ended;
      await rm(directory, { recursive: true, force: true });
    },
  };
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  port: number,
  fault: StoreFault | undefined,
): Promise<void> {
  if (fault === 'reset') return void request.socket.destroy();
  if (fault === 'error' || fault === 'forbidden') {
    request.resume();
    return void response.writeHead(fault === 'error' ? 500 : 403).end('<Error/>');
  }
  if (fault === 'delay') await pause(300);
  const { method, url, headers } = request;
  const onward = send({ hostname: '127.0.0.1', port, method, path: url, headers });
  onward.on('error', () => response.destroy());
  response.on('close', () => onward.destroy());
  if (fault === 'truncated' && method === 'PUT') {
    const [part] = await once(request, 'data');
    onward.write(part.subarray(0, part.length / 2));
    await pause(20);
    onward.destroy();
    return void request.socket.destroy();
  }
  request.pipe(onward);
  const [reply] = (await once(onward, 'response')) as [IncomingMessage];
  if (fault === 'reset_after') {
    reply.resume();
    await once(reply, 'end');
    return void request.socket.destroy();
  }
  response.writeHead(reply.statusCode ?? 502, reply.headers);
  if (fault === 'truncated' && method === 'GET') {
    const [part] = await once(reply, 'data');
    response.write(part.subarray(0, part.length / 2));
    await pause(20);
    return void request.socket.destroy();
  }
  reply.pipe(response);
}
