import { once } from 'node:events';
import { createServer } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { plainAddress } from '../src/http/network-of.ts';
import { abortSignalOf, networkOf, originOf } from '../src/index.ts';
import { listenOnFreePort, openSocket } from './support/raw-http.ts';
import { getRoute, startApp } from './support/test-app.ts';

function setUp() {
  const signals: AbortSignal[] = [];
  const started = startApp([
    getRoute('/people/:email', ({ request, requestId }) => ({
      status: 200,
      body: { ...originOf(request), fromHandler: requestId },
    })),
    getRoute('/never', ({ response }) => {
      signals.push(abortSignalOf(response));
      return new Promise(() => undefined);
    }),
    getRoute('/done', ({ response }) => {
      signals.push(abortSignalOf(response));
      return { status: 200, body: {} };
    }),
  ]);
  return { ...started, signals };
}

describe('requestContext', () => {
  it.each([['a'], ['3f2b-77.A_z'], ['x'.repeat(64)]])('keeps the id %s of the caller', async (id) => {
    const { client, accessLines } = setUp();
    const response = await client.get('/people/1').set('X-Request-Id', id);
    expect(response.headers['x-request-id']).toBe(id);
    expect(response.body).toMatchObject({ requestId: id, fromHandler: id });
    await eventually(() => accessLines()[0]?.request_id === id);
  });

  it.each([['x'.repeat(65)], ['two words'], ['{"a":1}'], [''], ['a, b']])(
    'replaces the malformed id %j',
    async (id) => {
      const { client } = setUp();
      const response = await client.get('/people/1').set('X-Request-Id', id);
      expect(response.headers['x-request-id']).toMatch(/^[0-9a-f-]{36}$/);
    },
  );

  it('gives each request a different id', async () => {
    const { client } = setUp();
    const ids = await Promise.all(
      [1, 2, 3].map(async () => (await client.get('/people/1')).headers['x-request-id']),
    );
    expect(new Set(ids).size).toBe(3);
  });

  it('writes one line per request, with the path template instead of the URL', async () => {
    const { client, accessLines, log } = setUp();
    await client.get('/people/ann@example.com?secret=hunter2').set('Authorization', 'Bearer abc.def');
    await eventually(() => accessLines().length === 1);
    expect(accessLines()[0]).toEqual({
      level: 'info',
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      service: 'kit-test',
      request_id: expect.any(String),
      method: 'GET',
      route: '/people/:email',
      status: 200,
      duration_ms: expect.any(Number),
      msg: 'request',
    });
    expect(log.text()).not.toMatch(/ann@|hunter2|abc\.def/);
  });

  it('logs no path for an unknown route, and the status of the response', async () => {
    const { client, accessLines, log } = setUp();
    await client.get('/ann@example.com');
    await eventually(() => accessLines().length === 1);
    expect(accessLines()[0]).toMatchObject({ route: null, status: 404 });
    expect(log.text()).not.toContain('ann@');
  });

  it('marks a request whose client disconnects before the response, and aborts the signal', async () => {
    const { app, accessLines, signals } = setUp();
    const server = createServer(app);
    const socket = await openSocket(await listenOnFreePort(server));
    socket.write('GET /never HTTP/1.1\r\nHost: a\r\n\r\n');
    await eventually(() => signals.length === 1);
    expect(signals[0]?.aborted).toBe(false);
    socket.destroy();
    await eventually(() => accessLines().length === 1);
    expect(accessLines()[0]).toMatchObject({ route: '/never', aborted: true });
    expect(signals[0]?.aborted).toBe(true);
    server.close();
    await once(server, 'close');
  });

  it('neither marks nor aborts a request with a response', async () => {
    const { client, accessLines, signals } = setUp();
    await client.get('/done');
    await eventually(() => accessLines().length === 1);
    expect(accessLines()[0]).not.toHaveProperty('aborted');
    expect(signals[0]?.aborted).toBe(false);
  });
});

describe('originOf', () => {
  it('returns the address and a truncated user agent, null without one', async () => {
    const { client } = setUp();
    const long = await client.get('/people/1').set('User-Agent', 'u'.repeat(500));
    expect(long.body).toMatchObject({ ip: expect.stringContaining('127.0.0.1'), userAgent: 'u'.repeat(400) });
    expect((await client.get('/people/1').unset('User-Agent')).body.userAgent).toBeNull();
  });
});

it.each([
  ['203.0.113.9', '203.0.113.9'],
  ['::ffff:203.0.113.9', '203.0.113.9'],
  ['2001:db8::1', '2001:db8::1'],
  ['', ''],
])('the address %s is shown as %s', (ip, shown) => {
  expect(plainAddress(ip)).toBe(shown);
});

describe('networkOf', () => {
  it.each([
    [
      '203.0.113.9',
      [
        '203.0.113.9',
        '::ffff:203.0.113.9',
        '::FFFF:203.0.113.9',
        '::ffff:cb00:7109',
        '0:0:0:0:0:ffff:cb00:7109',
      ],
    ],
    [
      '2001:db8:0:1::/64',
      ['2001:db8:0:1::', '2001:db8:0:1:ffff::1', '2001:0DB8:0:1:1:2:3:4', '2001:db8:0:1:0:0:192.0.2.1'],
    ],
    ['fe80:0:0:0::/64', ['fe80::1', 'fe80::1%eth0']],
    ['0:0:0:0::/64', ['::', '::1', '::203.0.113.9']],
    ['0:0:0:1::/64', ['::1:0:0:0:0', '0:0:0:1::']],
    ['64:ff9b:0:0::/64', ['64:ff9b::203.0.113.9']],
    ['', ['']],
  ])('is %s for each of its addresses', (network, addresses) => {
    for (const address of addresses) expect([address, networkOf(address)]).toEqual([address, network]);
  });
});
