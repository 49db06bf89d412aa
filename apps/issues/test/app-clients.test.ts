import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { json } from './support/fake-identity.ts';
import {
  aSignedInBrowser,
  hosted,
  type Provider,
  sameOrigin,
  startProvider,
} from './support/oidc-provider.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

let provider: Provider;
let app: TestApp;
beforeAll(async () => {
  provider = await startProvider();
  app = await startTestApp(hosted, provider);
});
afterAll(async () => {
  await app.close();
  await provider.identity.stop();
});

const wiki = { name: 'Wiki', kind: 'confidential', redirect_uris: ['https://wiki.test/callback'] };

/** The requests of a signed-in page. */
async function aPage(rights: { is_staff?: boolean; is_superuser?: boolean }) {
  const { browser, person } = await aSignedInBrowser(app, provider, rights);
  return (method: 'get' | 'post' | 'delete', path: string, body?: object) =>
    app.http[method](path)
      .set({ ...sameOrigin, 'X-Tessera-App': '1', 'X-Tessera-User': person.id, Cookie: browser.cookie })
      .send(body);
}

describe('the page of applications', () => {
  it('is for staff', async () => {
    const send = await aPage({});
    expectProblem(await send('get', '/app/clients'), 403, 'forbidden');
    expectProblem(await send('post', '/app/clients', wiki), 403, 'forbidden');
    const [id] = [...provider.clients.keys()];
    expectProblem(await send('delete', `/app/clients/${id}`), 403, 'forbidden');
    expectProblem(await send('post', `/app/clients/${id}/rotate-secret`), 403, 'forbidden');
    expectProblem(await app.http.get('/app/clients').set(sameOrigin), 401, 'unauthorized');
  });

  it('registers an application, shows its secret once, makes a new one, and disables it', async () => {
    const send = await aPage({ is_staff: true });
    const { body: created } = await send('post', '/app/clients', wiki).expect(201);
    expect(created).toMatchObject({ ...wiki, client_secret: expect.any(String) });
    const path = `/app/clients/${created.client_id}`;
    const { body: list } = await send('get', '/app/clients').expect(200);
    const [listed] = list.clients.filter((one: { name: string }) => one.name === 'Wiki');
    expect(listed).toMatchObject(wiki);
    expect(JSON.stringify(list)).not.toContain(created.client_secret);
    const { body: rotated } = await send('post', `${path}/rotate-secret`).expect(200);
    expect(rotated.client_secret).not.toBe(created.client_secret);
    await send('delete', path).expect(204);
    expect(provider.clients.get(created.client_id)?.disabled_at).not.toBeNull();
  });

  it('lets only superusers decide who gets tokens that other services accept', async () => {
    const staff = await aPage({ is_staff: true });
    const trusted = { ...wiki, audiences: ['tessera'] };
    expectProblem(await staff('post', '/app/clients', trusted), 403, 'forbidden');
    // The client of the app itself.
    const [own = ''] = [...provider.clients.keys()];
    expectProblem(await staff('post', `/app/clients/${own}/rotate-secret`), 403, 'forbidden');
    expectProblem(await staff('delete', `/app/clients/${own}`), 403, 'forbidden');
    const superuser = await aPage({ is_staff: true, is_superuser: true });
    await superuser('post', '/app/clients', trusted).expect(201);
  });

  it('explains what identity refuses, and its failures', async () => {
    const send = await aPage({ is_staff: true });
    expectProblem(
      await send('delete', '/app/clients/0192f0c1-2d3e-7abc-8def-0123456789ab'),
      404,
      'client_not_found',
    );
    const { answer } = provider.identity;
    const errors = [{ field: 'redirect_uris.0', message: 'must be an absolute URI' }];
    provider.identity.answer = json(422, { code: 'validation_failed', detail: 'Invalid.', errors });
    const refused = await send('post', '/app/clients', wiki);
    expectProblem(refused, 422, 'validation_failed');
    expect(refused.body.errors).toEqual(errors);
    provider.identity.answer = json(503, {});
    expectProblem(await send('get', '/app/clients'), 503, 'identity_unavailable');
    provider.identity.answer = json(200, { nonsense: true });
    expectProblem(await send('get', '/app/clients'), 502, 'identity_answer_invalid');
    provider.identity.answer = answer;
  });
});
