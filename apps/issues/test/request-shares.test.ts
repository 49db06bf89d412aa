import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ProblemError } from '@tessera/service-kit';
import { eventually } from '@tessera/stack/eventually';
import { RequestShares } from '../src/rate-limit/request-shares.ts';

let shares: RequestShares;
let server: Server;
let origin: string;
/** The responses of requests in progress, by the request's path. */
const open = new Map<string, ServerResponse>();

beforeEach(async () => {
  open.clear();
  shares = new RequestShares({ max: 2, waitingMax: 2, waitMs: 60_000 });
  server = createServer(async (request, response) => {
    try {
      await shares.enter(request.headers.from ?? '', response);
      open.set(request.url ?? '', response);
    } catch (error) {
      if (!(error instanceof ProblemError)) throw error;
      response.writeHead(error.status, error.headers).end(error.detail);
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

function send(path: string, { from = 'ann', signal }: { from?: string; signal?: AbortSignal } = {}) {
  const response = fetch(origin + path, { headers: { from }, ...(signal && { signal }) });
  response.catch(() => undefined);
  return response;
}

/** Requests arrive one after the other. */
async function fill(paths: string[]): Promise<Promise<Response>[]> {
  const sent: Promise<Response>[] = [];
  for (const path of paths) {
    const arrived = new Promise((resolve) => server.once('request', resolve));
    sent.push(send(path));
    await arrived;
  }
  return sent;
}

describe('requests of one caller', () => {
  it('start in their order when earlier ones end', async () => {
    await fill(['/1', '/2', '/3', '/4']);
    expect([...open.keys()]).toEqual(['/1', '/2']);
    open.get('/2')?.end();
    await eventually(() => open.has('/3'));
    expect(open.has('/4')).toBe(false);
    open.get('/1')?.end();
    await eventually(() => open.has('/4'));
  });

  it('do not wait for other callers', async () => {
    await fill(['/1', '/2', '/3']);
    send('/bob', { from: 'bob' });
    await eventually(() => open.has('/bob'));
    expect(open.has('/3')).toBe(false);
  });

  it('are refused with 429 and Retry-After if too many wait', async () => {
    await fill(['/1', '/2', '/3', '/4']);
    const refused = await send('/5');
    expect(refused.status).toBe(429);
    expect(refused.headers.get('retry-after')).toBe('1');
    expect(await refused.text()).toBe('At most 2 requests at the same time.');
  });

  it('are refused with 429 if they wait too long', async () => {
    shares = new RequestShares({ max: 1, waitMs: 1 });
    const [, second] = await fill(['/1', '/2']);
    expect((await second)?.status).toBe(429);
    open.get('/1')?.end();
    send('/3');
    await eventually(() => open.has('/3'));
  });

  it('leave the queue when the client disconnects', async () => {
    await fill(['/1', '/2']);
    const third = new AbortController();
    const arrived = new Promise<ServerResponse>((resolve) =>
      server.once('request', (_request, response) => resolve(response)),
    );
    send('/3', { signal: third.signal });
    const response = await arrived;
    await fill(['/4']);
    third.abort();
    await eventually(() => response.closed);
    open.get('/1')?.end();
    await eventually(() => open.has('/4'));
    expect(open.has('/3')).toBe(false);
  });

  it('end when their handlers have ended, if the client has disconnected', async () => {
    const first = new AbortController();
    send('/1', { signal: first.signal });
    await eventually(() => open.has('/1'));
    await fill(['/2', '/3']);
    first.abort();
    await eventually(() => open.get('/1')?.closed === true);
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(open.has('/3')).toBe(false);
    open.get('/1')?.end();
    await eventually(() => open.has('/3'));
  });

  it('end some time after the client has disconnected, if their handlers never end', async () => {
    shares = new RequestShares({ max: 1, abandonedMs: 20 });
    const first = new AbortController();
    send('/1', { signal: first.signal });
    await eventually(() => open.has('/1'));
    first.abort();
    send('/2');
    await eventually(() => open.has('/2'));
  });

  it('are not started if the client has disconnected before', async () => {
    const gone = new AbortController();
    send('/1', { signal: gone.signal });
    await eventually(() => open.has('/1'));
    const response = open.get('/1');
    gone.abort();
    await eventually(() => response?.closed === true);
    response?.end();
    for (let attempt = 0; attempt < 3; attempt += 1) {
      expect(() => response && shares.enter('ann', response)).toThrow(ProblemError);
    }
    await fill(['/2', '/3']);
    expect([...open.keys()]).toEqual(['/1', '/2', '/3']);
  });
});
