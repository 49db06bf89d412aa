import { once } from 'node:events';
import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { TokenResponse } from '@tessera/contracts';
import { first, httpClient, type Stack, startStack } from '@tessera/stack';
import { eventually } from '@tessera/stack/eventually';
import type { AxiosResponse } from 'axios';
import { issuesClient, password, reader, signUp, writer } from './support/clients.ts';
import { expectCompleteIssues } from './support/completeness.ts';
import { Load, tally } from './support/load.ts';

describe('when identity is killed while issues is under load', () => {
  let stack: Stack;
  let staff: TokenResponse;
  const load = new Load();
  const created = new Set<string>();

  beforeAll(async () => {
    stack = await startStack();
    const tokens = await signUp(stack, 'ann');
    staff = await signUp(stack, 'staff', { is_staff: true });
    for (let index = 0; index < 4; index += 1) load.add(writer(stack, tokens, created));
    for (let index = 0; index < 2; index += 1) load.add(reader(stack, tokens));
    await load.everyClient(5);
    await first(stack.identities).stop('SIGKILL');
  });
  afterAll(async () => {
    await load.stop().catch(() => undefined);
    expect(await stack.stop()).toEqual([0, 0]);
  });

  const createUser = (name: string) =>
    issuesClient(stack, staff).post('/users/', { email: `${name}@example.com`, password });

  it('issues continues: lists, reads, creates, comments and status changes all succeed', async () => {
    await load.everyClient(30);
    await first(stack.issues).untilReady();
    const failed = load.outcomes.filter(({ status }) => status !== 200 && status !== 201);
    expect(tally(failed)).toEqual({});
    expect(Object.keys(tally(load.outcomes)).sort()).toEqual([
      'comment 201',
      'create 201',
      'read 200',
      'status 200',
    ]);
  });

  it('requests that need identity get 503 with Retry-After', async () => {
    for (let index = 0; index < 10; index += 1) {
      const { status, data, headers } = await createUser(`bob-${index}`);
      expect([status, data.code]).toEqual([503, 'identity_unavailable']);
      expect(Number(headers['retry-after'])).toBeGreaterThan(0);
    }
  });

  it('these requests succeed when identity is back, and nothing was lost', async () => {
    await first(stack.identities).start();
    const isCreated = (answer: AxiosResponse) => answer.status === 201;
    // A request whose response came too late may have created its user.
    let attempt = 0;
    const createAnother = () => {
      attempt += 1;
      return createUser(`bob-again-${attempt}`);
    };
    await eventually(createAnother, isCreated);
    await load.stop();
    await expectCompleteIssues(stack, created);
  });
});

describe('when identity is suspended', () => {
  let stack: Stack;
  beforeAll(async () => {
    stack = await startStack();
  });
  afterAll(async () => {
    expect(await stack.stop()).toEqual([0, 0]);
  });

  it('a refresh whose client has given up meanwhile does not use up the refresh token', async () => {
    const { refresh_token } = await signUp(stack, 'eve');
    const identity = first(stack.identities);
    const { port } = new URL(identity.url);
    const body = JSON.stringify({ refresh_token });
    identity.suspend();
    const sockets = await Promise.all(
      Array.from({ length: 5 }, async () => {
        const socket = connect(Number(port), '127.0.0.1');
        await once(socket, 'connect');
        socket.end(
          `POST /token/refresh HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
        );
        await once(socket, 'finish');
        return socket;
      }),
    );
    identity.resume();
    await Promise.all(sockets.map((socket) => once(socket.resume(), 'close')));
    const { status } = await httpClient(identity.url).post('/token/refresh', { refresh_token });
    expect(status).toBe(200);
  });
});
