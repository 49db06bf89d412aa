import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { anEmail, createIdentity } from './support/identities.ts';
import { internalClient, unknownId } from './support/internal-client.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';

let app: TestApp;
beforeAll(async () => {
  app = await startTestApp();
});
afterAll(() => app.close());

const call = internalClient(() => app);

describe('DELETE /internal/identities/{id}', () => {
  it('returns 204, keeps the row as inactive with the time of deletion, and hides it from every lookup', async () => {
    const { identity } = await createIdentity(app, { sso_provider: 'google', sso_id: anEmail() });
    const response = await call('delete', `/internal/identities/${identity.id}`).expect(204);
    expect(response.text).toBe('');
    const [row] = await app.sql('SELECT is_active, deleted_at, email FROM identities WHERE id = $1', [
      identity.id,
    ]);
    expect(row).toMatchObject({ is_active: false, email: identity.email });
    expect(Math.abs(Date.now() - row?.deleted_at.getTime())).toBeLessThan(60_000);
    await call('get', `/internal/identities/${identity.id}`).expect(404);
    await call('get', `/internal/identities/by-email/${identity.email}`).expect(404);
    await call('get', `/internal/identities/by-sso/lookup?provider=google&sso_id=${identity.sso_id}`).expect(
      404,
    );
  });

  it('returns 404 the second time and for an unknown id, and keeps the time of deletion', async () => {
    const { identity } = await createIdentity(app);
    await call('delete', `/internal/identities/${identity.id}`).expect(204);
    const [before] = await app.sql('SELECT deleted_at FROM identities WHERE id = $1', [identity.id]);
    expectProblem(await call('delete', `/internal/identities/${identity.id}`), 404, 'identity_not_found');
    expect(await app.sql('SELECT deleted_at FROM identities WHERE id = $1', [identity.id])).toEqual([before]);
    expectProblem(await call('delete', `/internal/identities/${unknownId}`), 404, 'identity_not_found');
  });
});
