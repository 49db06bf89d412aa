import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { eventually } from '@tessera/stack/eventually';
import pg from 'pg';
import { createClient } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { exchange, nextCode, postForm, signInFor, type TestBrowser } from './support/oidc.ts';
import { type ServiceProcess, startService } from './support/service-process.ts';
import { createTestDatabase, serviceToken } from './support/test-app.ts';

const rounds = Number(process.env.EXCHANGE_ROUNDS ?? 2);

describe('three processes on one database', () => {
  let services: ServiceProcess[];
  let database: pg.Pool;
  let client: CreatedClient;
  let browser: TestBrowser;
  beforeAll(async () => {
    const url = await createTestDatabase();
    const settings = {
      HOSTED_SIGN_IN: 'on',
      RATE_LIMIT_TOKENS_PER_MINUTE: '0',
      REFRESH_REUSE_LEEWAY_SECONDS: '300',
    };
    services = await Promise.all([1, 2, 3].map(() => startService(url, settings)));
    database = new pg.Pool({ connectionString: url, max: 1 });
    const { identity, password } = await createIdentity(first());
    client = await createClient(first());
    ({ browser } = await signInFor(first(), client, { email: identity.email, password }));
  });
  afterAll(async () => {
    await database.end();
    expect(await Promise.all(services.map((service) => service.stop()))).toEqual([0, 0, 0]);
  });

  const first = (): ServiceProcess => {
    const [service] = services;
    if (service === undefined) throw new Error('There is no process.');
    return service;
  };
  const inParallel = <Result>(count: number, send: (service: ServiceProcess) => PromiseLike<Result>) =>
    Promise.all(Array.from({ length: count }, (_, index) => send(services[index % 3] ?? first())));
  const success = [200, ...Array<number>(19).fill(400)];

  it(`exchange a code for exactly one of 20 callers, and end its family, in ${rounds} rounds`, async () => {
    for (let round = 0; round < rounds; round += 1) {
      const code = await nextCode(browser, client);
      const answers = await inParallel(20, (service) => exchange(service, client, code));
      expect(answers.map(({ status }) => status).sort()).toEqual(success);
      const { rows } = await database.query(
        `SELECT count(*)::int AS families, count(revoked_at)::int AS ended FROM token_families WHERE client_id IS NOT NULL`,
      );
      expect(rows).toEqual([{ families: round + 1, ended: round + 1 }]);
    }
  });

  it(`rotate a refresh token of a client for exactly one of 20 callers, in ${rounds} rounds`, async () => {
    const { body } = await exchange(first(), client, await nextCode(browser, client)).expect(200);
    let token: string = body.refresh_token;
    for (let round = 0; round < rounds; round += 1) {
      const answers = await inParallel(20, (service) =>
        postForm(service, '/oidc/token', { grant_type: 'refresh_token', refresh_token: token }, client),
      );
      expect(answers.map(({ status }) => status).sort()).toEqual(success);
      token = answers.find(({ status }) => status === 200)?.body.refresh_token;
    }
    await postForm(
      first(),
      '/oidc/token',
      { grant_type: 'refresh_token', refresh_token: token },
      client,
    ).expect(200);
  });

  it('refuse a client that one of them has disabled', async () => {
    const refresh = (service: ServiceProcess) =>
      postForm(service, '/oidc/token', { grant_type: 'refresh_token', refresh_token: 'x' }, client);
    const statuses = async () => (await Promise.all(services.map(refresh))).map(({ status }) => status);
    expect(await statuses()).toEqual([400, 400, 400]);
    await first()
      .http.delete(`/internal/clients/${client.client_id}`)
      .set('X-Service-Token', serviceToken)
      .expect(204);
    expect((await refresh(first())).body.error).toBe('invalid_client');
    await eventually(async () => (await statuses()).every((status) => status === 401));
  });
});
