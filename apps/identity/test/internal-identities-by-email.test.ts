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

describe('GET /internal/identities/by-email/{email}', () => {
  it('returns the identity for a percent-encoded e-mail in any case', async () => {
    const { identity } = await createIdentity(app, { email: `a+b/c%${anEmail()}` });
    const path = encodeURIComponent(identity.email.toUpperCase());
    expect((await call('get', `/internal/identities/by-email/${path}`).expect(200)).body).toEqual(identity);
  });

  it('finds an address in each of its spellings, and no look-alike', async () => {
    const name = anEmail().slice(4, 16);
    const { identity } = await createIdentity(app, { email: `Kate.${name}@bücher.example` });
    for (const domain of ['bücher.example.', 'xn--bcher-kva.example', 'BU\u0308CHER。example']) {
      const path = `/internal/identities/by-email/${encodeURIComponent(`kate.${name}@${domain}`)}`;
      expect((await call('get', path).expect(200)).body).toEqual(identity);
    }
    const kelvin = encodeURIComponent(`\u212aate.${name}@bücher.example`);
    expectProblem(await call('get', `/internal/identities/by-email/${kelvin}`), 404, 'identity_not_found');
  });

  it.each(['nobody@example.com', 'not an e-mail', 'ünïcode', '%'])('returns 404 for %s', async (email) => {
    expectProblem(
      await call('get', `/internal/identities/by-email/${encodeURIComponent(email)}`),
      404,
      'identity_not_found',
    );
  });

  it.each(['%00', 'a%0Ab', 'x'.repeat(321)])('returns 422 for %s', async (email) => {
    expectInvalidFields(await call('get', `/internal/identities/by-email/${email}`), ['email']);
  });

  it('returns 400 for invalid percent-encoding', async () => {
    expectProblem(await call('get', '/internal/identities/by-email/%ff'), 400, 'malformed_path');
  });
});
