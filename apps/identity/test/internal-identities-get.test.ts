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
  it('returns the identity for an id in any case', async () => {
    const { identity } = await createIdentity(app);
    expect((await call('get', `/internal/identities/${identity.id}`).expect(200)).body).toEqual(identity);
    expect((await call('get', `/internal/identities/${identity.id.toUpperCase()}`).expect(200)).body).toEqual(
      identity,
    );
  });

  it('returns an inactive identity that is not deleted', async () => {
    const { identity } = await createIdentity(app, { is_active: false });
    await call('get', `/internal/identities/${identity.id}`).expect(200);
  });

  it.each([unknownId, '00000000-0000-0000-0000-000000000000', 'ffffffff-ffff-ffff-ffff-ffffffffffff'])(
    'returns 404 for %s',
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
  ])('returns 422 for the id %s', async (id) => {
    for (const method of ['get', 'put', 'delete'] as const) {
      expectInvalidFields(await call(method, `/internal/identities/${encodeURIComponent(id)}`), ['id']);
    }
  });

  it('returns 400 for invalid percent-encoding', async () => {
    expectProblem(await call('get', '/internal/identities/%E0%A4%A'), 400, 'malformed_path');
  });
});
