import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, expect, it } from '@jest/globals';
import axios from 'axios';
import { patient } from '../src/demo/patient.ts';

describe('patient', () => {
  it('waits out a limit and sends the same again, and gives up on anything else', async () => {
    const bodies: string[] = [];
    const statuses = [429, 201, 422];
    const server = createServer(async (request, response) => {
      bodies.push((await request.toArray()).join(''));
      response.writeHead(statuses.shift() ?? 500, { 'Retry-After': '0' }).end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const client = patient(axios.create({ baseURL: `http://127.0.0.1:${port}`, proxy: false }));
    expect((await client.post('/', { title: 'One' })).status).toBe(201);
    await expect(client.post('/', { title: 'Two' })).rejects.toThrow('422');
    expect(bodies).toEqual(['{"title":"One"}', '{"title":"One"}', '{"title":"Two"}']);
    server.close();
  });
});
