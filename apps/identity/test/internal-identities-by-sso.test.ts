import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { anEmail, createIdentity } from './support/identities.ts';
import { internalClient } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const call = internalClient(() => app);

describe('GET /internal/identities/by-sso/lookup', () => {
  const lookup = (query: string) => call('get', `/internal/identities/by-sso/lookup?${query}`);

  it('returns the identity of a pair, compared exactly', async () => {
    const { identity } = await createIdentity(app, { sso_provider: 'google', sso_id: `S-${anEmail()}` });
    const id = encodeURIComponent(identity.sso_id ?? '');
    expect((await lookup(`provider=google&sso_id=${id}`).expect(200)).body).toEqual(identity);
    expectProblem(await lookup(`provider=google&sso_id=${id.toLowerCase()}`), 404, 'identity_not_found');
    expectProblem(await lookup(`provider=github&sso_id=${id}`), 404, 'identity_not_found');
  });

  it.each([
    ['', ['provider', 'sso_id']],
    ['provider=google', ['sso_id']],
    ['provider=&sso_id=', ['provider', 'sso_id']],
    ['provider=a&provider=b&sso_id=c', ['provider']],
    ['provider=a&sso_id=%00', ['sso_id']],
  ])('returns 422 for "%s"', async (query, fields) => {
    expectInvalidFields(await lookup(query), fields);
  });
});
