import { randomUUID } from 'node:crypto';
import type { RequestListener } from 'node:http';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createLogger } from '@tessera/service-kit';
import { loadConfig } from '../src/config.ts';
import { IdentityClient } from '../src/identity-mirror/identity-client.ts';
import { FakeIdentity, json, wireIdentity } from './support/fake-identity.ts';
import './support/response-guard.ts';
import { recordingLog, rememberSecret } from '@tessera/testing/leaks';

const current = rememberSecret('the-current-service-token-0123456789abc');
const previous = rememberSecret('the-previous-service-token-0123456789ab');

describe('the rotation of the service token', () => {
  let stub: FakeIdentity;
  let log: string[];
  /** The tokens that identity accepts. */
  let accepted: string[];
  beforeEach(async () => {
    stub = await FakeIdentity.start();
    accepted = [current];
    stub.answer = answer;
  });
  afterEach(() => stub.stop());

  const answer: RequestListener = (request, response) => {
    const [token = ''] = request.headersDistinct['x-service-token'] ?? [];
    const known = accepted.includes(token);
    const [status, body] = known ? [200, wireIdentity()] : [403, { code: 'service_token_refused' }];
    json(status as number, body)(request, response);
  };

  function aClient(previousServiceToken?: string): IdentityClient {
    const destination = recordingLog();
    log = destination.lines;
    const logger = createLogger({ service: 'issues', level: 'debug', destination });
    return new IdentityClient({
      url: stub.url,
      serviceToken: current,
      previousServiceToken,
      timeoutMs: 2_000,
      logger,
    });
  }

  const look = (client: IdentityClient) => client.findById(randomUUID());
  const sent = () => stub.seen.map(({ serviceToken }) => serviceToken);

  it('sends only the current token while identity accepts it', async () => {
    const client = aClient(previous);
    await look(client);
    await look(client);
    expect(sent()).toEqual([current, current]);
    expect(log.join('')).not.toContain('SERVICE_TOKEN');
  });

  it('falls back to the previous token, keeps using it, and logs the fallback once', async () => {
    accepted = [previous];
    const client = aClient(previous);
    await look(client);
    await look(client);
    expect(sent()).toEqual([current, previous, previous]);
    expect(log.filter((line) => line.includes('SERVICE_TOKEN_PREVIOUS'))).toHaveLength(1);
  });

  it('switches to the current token when identity rejects the previous one', async () => {
    accepted = [previous];
    const client = aClient(previous);
    await look(client);
    accepted = [current];
    await look(client);
    await look(client);
    expect(sent()).toEqual([current, previous, previous, current, current]);
  });

  it('repeats a change with its whole body after a 403, because identity did nothing', async () => {
    accepted = [previous];
    const id = randomUUID();
    stub.answer = (request, response) => {
      if (request.headersDistinct['x-service-token']?.[0] === current) json(403, {})(request, response);
      else json(200, wireIdentity({ id, username: 'renamed' }))(request, response);
    };
    await aClient(previous).update(id, { username: 'renamed' });
    expect(stub.seen.map(({ method, body }) => [method, body])).toEqual([
      ['PUT', { username: 'renamed' }],
      ['PUT', { username: 'renamed' }],
    ]);
  });

  it('fails when identity rejects both tokens, and starts the next call with the same token', async () => {
    accepted = [];
    const client = aClient(previous);
    const rejected = { status: 502, code: 'identity_credentials_rejected' };
    await expect(look(client)).rejects.toMatchObject(rejected);
    expect(sent()).toEqual([current, previous]);
    accepted = [current];
    await look(client);
    expect(sent()).toEqual([current, previous, current]);
  });

  it.each([
    ['no previous token is configured', undefined],
    ['both tokens are equal', current],
  ])('sends one request when %s', async (_why, other) => {
    accepted = [];
    await expect(look(aClient(other))).rejects.toMatchObject({ code: 'identity_credentials_rejected' });
    expect(sent()).toEqual([current]);
  });

  it('does not try the other token after any other response', async () => {
    for (const status of [401, 404, 500]) {
      stub.seen.length = 0;
      stub.answer = json(status, {});
      await look(aClient(previous)).catch(() => undefined);
      expect(sent()).toEqual([current]);
    }
  });

  it('handles concurrent calls independently', async () => {
    accepted = [previous];
    const client = aClient(previous);
    await Promise.all(Array.from({ length: 8 }, () => look(client)));
    expect(sent().filter((token) => token === previous)).toHaveLength(8);
    stub.seen.length = 0;
    await look(client);
    expect(sent()).toEqual([previous]);
  });

  it('is configured by SERVICE_TOKEN_PREVIOUS', () => {
    const { identity } = loadConfig({
      NODE_ENV: 'test',
      DATABASE_URL: 'postgresql://issues@localhost/issues',
      SERVICE_TOKEN: current,
      SERVICE_TOKEN_PREVIOUS: previous,
      IDENTITY_URL: 'http://localhost:3001',
      PUBLIC_BASE_URL: 'http://localhost:3002',
    });
    expect(identity).toMatchObject({ serviceToken: current, previousServiceToken: previous });
  });
});
