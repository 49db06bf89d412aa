import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { findFreePort, reservePort } from '../src/postgres/free-port.ts';

describe('a free port', () => {
  it('is reserved while its server is down, so that no other one gets it', async () => {
    const port = await findFreePort();
    expect(await reservePort(port)).toBe(false);
    const server = createServer().listen(port, '127.0.0.1');
    await once(server, 'listening');
    server.close();
    await once(server, 'close');
    expect(await reservePort(port)).toBe(false);
  });
});
