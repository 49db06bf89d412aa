import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import axios from 'axios';
import { retryWhenLimited } from '../src/demo/retry-when-limited.ts';

describe('retryWhenLimited', () => {
  it('waits for Retry-After and repeats the request after a 429, and throws other errors', async () => {
    const bodies: string[] = [];
    const statuses = [429, 201, 422];
    const server = createServer(async (request, response) => {
      bodies.push((await request.toArray()).join(''));
      response.writeHead(statuses.shift() ?? 500, { 'Retry-After': '0' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = retryWhenLimited(axios.create({ baseURL: `http://127.0.0.1:${port}`, proxy: false }));
    expect((await client.post('/', { title: 'One' })).status).toBe(201);
    await expect(client.post('/', { title: 'Two' })).rejects.toThrow('422');
    expect(bodies).toEqual(['{"title":"One"}', '{"title":"One"}', '{"title":"Two"}']);
    server.close();
  });
});
