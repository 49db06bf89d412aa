import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { CreatedClient } from '@tessera/contracts';
import { databaseUse, type RoundTripRecorder, startRoundTripRecorder } from '@tessera/testing/round-trips';
import { createClient } from './support/clients.ts';
import { createIdentity } from './support/identities.ts';
import { exchange, nextCode, postForm, signInFor, type TestBrowser } from './support/oidc.ts';
import { createTestDatabase, startTestApp, type TestApp } from './support/test-app.ts';

let recorder: RoundTripRecorder;
let app: TestApp;
let client: CreatedClient;
let person: { email: string; password: string };
let browser: TestBrowser;
beforeAll(async () => {
  recorder = await startRoundTripRecorder(await createTestDatabase());
  // One connection, so that every request uses the connection that the first requests warmed.
  app = await startTestApp(
    { HOSTED_SIGN_IN: 'on', DATABASE_POOL_MAX: '1', RATE_LIMIT_TOKENS_PER_MINUTE: '0' },
    recorder.url,
  );
  client = await createClient(app);
  const { identity, password } = await createIdentity(app);
  person = { email: identity.email, password };
  ({ browser } = await signInFor(app, client, person));
  // The process knows the client for some seconds.
  await exchange(app, client, await nextCode(browser, client)).expect(200);
});
afterAll(async () => {
  await app.close();
  await recorder.close();
});

/** The statements of a request: the smallest number, because the client is read again after some seconds. */
async function statementsOf(prepare: () => Promise<() => Promise<unknown>>): Promise<number> {
  const counts: number[] = [];
  for (let count = 0; count < 3; count += 1) {
    const send = await prepare();
    counts.push(databaseUse(await recorder.during(async () => void (await send()))).statements);
  }
  return Math.min(...counts);
}

describe('the sign-in for applications', () => {
  it('takes one statement for a code of a browser that is signed in', async () => {
    expect(await statementsOf(async () => () => nextCode(browser, client))).toBe(1);
  });

  it('takes one statement for the exchange of a code, its audit event included', async () => {
    const prepare = async () => {
      const code = await nextCode(browser, client);
      return async () => exchange(app, client, code).expect(200);
    };
    expect(await statementsOf(prepare)).toBe(1);
  });

  it('takes one statement for a refresh', async () => {
    const prepare = async () => {
      const { body } = await exchange(app, client, await nextCode(browser, client)).expect(200);
      const refresh = { grant_type: 'refresh_token', refresh_token: body.refresh_token };
      return async () => postForm(app, '/oidc/token', refresh, client).expect(200);
    };
    expect(await statementsOf(prepare)).toBe(1);
  });

  it('takes two statements for a sign-in on the page, its code included', async () => {
    expect(await statementsOf(async () => () => signInFor(app, client, person))).toBe(2);
  });
});
