import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectInvalidFields, expectProblem } from '@tessera/testing/problems';
import { createIdentity } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const call = internalClient(() => app);

describe('GET /internal/identities/{id}', () => {
  it('answers the identity, whatever the case of the id', async () => {
    const { identity } = await createIdentity(app);
    expect((await call('get', `/internal/identities/${identity.id}`).expect(200)).body).toEqual(identity);
    expect((await call('get', `/internal/identities/${identity.id.toUpperCase()}`).expect(200)).body).toEqual(
      identity,
    );
  });

  it('answers an inactive identity, which is not deleted', async () => {
    const { identity } = await createIdentity(app, { is_active: false });
    await call('get', `/internal/identities/${identity.id}`).expect(200);
  });

  it.each([unknownId, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])(
    '404s on %s',
    async (id) => {
      expectProblem(await call('get', `/internal/identities/${id}`), 404, 'identity_not_found');
    },
  );

  it.each([
    'not-a-uuid',
    '42',
    `${unknownId}0`,
    unknownId.replaceAll('-', ''),
    `{${unknownId}}`,
    "';--",
    'null',
  ])('refuses %s with 422 before any look-up', async (id) => {
    for (const method of ['get', 'put', 'delete'] as const) {
      expectInvalidFields(await call(method, `/internal/identities/${encodeURIComponent(id)}`), ['id']);
    }
  });

  it('refuses broken percent-encoding with 400', async () => {
    expectProblem(await call('get', '/internal/identities/%E0%A4%A'), 400, 'malformed_path');
  });
});
