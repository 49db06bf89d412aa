import { randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { logoutEvent } from '@tessera/contracts';
import { expectProblem } from '@tessera/testing/problems';
import { publicBaseUrl } from './support/environment.ts';
import { json } from './support/fake-identity.ts';
import {
  aSignedInBrowser,
  HostedBrowser,
  hosted,
  navigation,
  type Provider,
  sameOrigin,
  sessionCookie,
  startProvider,
  userOf,
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

describe('a session of a hosted sign-in', () => {
  const expire = (id: string) =>
    app.sql(
      "UPDATE web_sessions SET access_expires_at = now(), refresh_at = now() - interval '1 s' WHERE identity_id = $1",
      [id],
    );

  it('is refreshed by the client', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    const before = provider.requests('POST', '/oidc/token').length;
    await expire(person.id);
    expect(await userOf(browser)).toBe(person.id);
    const [sent] = provider.requests('POST', '/oidc/token').slice(before);
    expect(sent?.body).toMatchObject({ grant_type: 'refresh_token' });
    expect(sent?.authorization).toMatch(/^Basic /);
    expect(provider.requests('POST', '/token/refresh')).toEqual([]);
  });

  it('ends when identity refuses the refresh token', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    await expire(person.id);
    const { answer } = provider.identity;
    provider.identity.answer = json(400, { error: 'invalid_grant' });
    expect(await userOf(browser)).toBeNull();
    provider.identity.answer = answer;
    expect(await app.sql('SELECT 1 FROM web_sessions WHERE identity_id = $1', [person.id])).toEqual([]);
  });

  it('ends at identity, too, when its person signs out everywhere', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    const path = `/app/oidc/sign-out?user=${person.id}`;
    for (const site of ['cross-site', 'same-site', 'none'])
      expectProblem(
        await browser.send('get', path, { ...navigation, 'Sec-Fetch-Site': site }),
        403,
        'cross_site_request',
      );
    for (const advance of ['Sec-Purpose', 'Purpose', 'X-Moz'])
      expectProblem(
        await browser.send('get', path, { ...sameOrigin, [advance]: 'prefetch' }),
        403,
        'cross_site_request',
      );
    const head = app.http.head(path).set({ ...sameOrigin, Cookie: browser.cookie });
    expect((await head).status).toBe(403);
    const other = await browser.send('get', `/app/oidc/sign-out?user=${randomUUID()}`, sameOrigin);
    expect([other.status, other.headers.location]).toEqual([303, `${publicBaseUrl}/issues`]);
    expect(await userOf(browser)).toBe(person.id);
    const { status, headers } = await browser.send('get', path, sameOrigin);
    const url = new URL(headers.location ?? '');
    expect([status, url.origin + url.pathname]).toEqual([303, `${provider.issuer}/logout`]);
    const { id_token_hint: hint = '', ...rest } = Object.fromEntries(url.searchParams);
    expect(rest).toEqual({
      client_id: [...provider.clients.keys()][0],
      post_logout_redirect_uri: `${publicBaseUrl}/sign-in?signed_out=1`,
    });
    expect(JSON.parse(Buffer.from(hint.split('.')[1] ?? '', 'base64url').toString()).sub).toBe(person.id);
    expect(browser.cookies.has(sessionCookie)).toBe(false);
    expect(await app.sql('SELECT 1 FROM web_sessions WHERE identity_id = $1', [person.id])).toEqual([]);
  });
});

describe('a logout token', () => {
  const send = (logout_token: string) =>
    app.http.post('/app/oidc/backchannel-logout').type('form').send({ logout_token });
  const aToken = (claims: Record<string, unknown>, typ = 'logout+jwt') =>
    provider.identity.sign(
      {
        iss: provider.issuer,
        aud: [...provider.clients.keys()][0],
        jti: randomUUID(),
        events: { [logoutEvent]: {} },
        ...claims,
      },
      typ,
    );

  it('ends the sessions of one sign-in of a browser, and a repeated one no other', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    const other = await aSignedInBrowser(app, provider);
    const token = await aToken({ sub: person.id, sid: `sso-${person.id}` });
    const { headers } = await send(token).expect(200);
    expect(headers['cache-control']).toBe('no-store');
    expect(await userOf(browser)).toBeNull();
    const later = new HostedBrowser(app);
    const claims = { sid: 'a later sign-in' };
    await later.finish(provider.authorize(await later.begin(), person, { claims }));
    await send(token).expect(200);
    expect(await userOf(later)).toBe(person.id);
    expect(await userOf(other.browser)).toBe(other.person.id);
  });

  it('lets the next request of a person ask identity', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    await send(await aToken({ sub: person.id })).expect(200);
    // Identity refreshes a later session.
    expect(await userOf(browser)).toBe(person.id);
    await send(await aToken({ sub: person.id })).expect(200);
    const { answer } = provider.identity;
    provider.identity.answer = json(400, { error: 'invalid_grant' });
    expect(await userOf(browser)).toBeNull();
    provider.identity.answer = answer;
  });

  it.each<[string, Record<string, unknown>, string]>([
    ['of another issuer', { iss: 'https://other.test/oidc' }, 'logout+jwt'],
    ['for another client', { aud: randomUUID() }, 'logout+jwt'],
    ['without the event', { events: {} }, 'logout+jwt'],
    ['with a nonce', { nonce: 'n' }, 'logout+jwt'],
    ['without an id', { jti: undefined }, 'logout+jwt'],
    ['without person and session', { sub: undefined }, 'logout+jwt'],
    ['that is an ID token', {}, 'JWT'],
  ])('%s is refused', async (_name, claims, typ) => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    const response = await send(await aToken({ sub: person.id, ...claims }, typ));
    expectProblem(response, 400, 'invalid_request');
    expect(response.body.error).toBe('invalid_request');
    expect(await userOf(browser)).toBe(person.id);
  });
});

describe('the client of the web app', () => {
  const creations = () =>
    provider.requests('POST', '/internal/clients').filter(({ url }) => url === '/internal/clients');
  const repairs = (method: string) => provider.requests(method, '/internal/clients/').map(({ url }) => url);

  it('is registered once by several processes, and kept over restarts', async () => {
    const before = creations().length;
    const first = await startTestApp(hosted, provider);
    const replicas = await Promise.all(
      [1, 2].map(() => startTestApp(hosted, { identity: provider.identity, databaseUrl: first.databaseUrl })),
    );
    const urls = await Promise.all([first, ...replicas].map((one) => new HostedBrowser(one).begin()));
    expect(
      creations()
        .slice(before)
        .map(({ body }) => body),
    ).toEqual([
      {
        name: 'Tessera',
        kind: 'confidential',
        redirect_uris: [`${publicBaseUrl}/app/oidc/callback`],
        post_logout_redirect_uris: [`${publicBaseUrl}/sign-in?signed_out=1`],
        backchannel_logout_uri: `${publicBaseUrl}/app/oidc/backchannel-logout`,
        scopes: ['openid', 'email', 'profile'],
        audiences: ['tessera'],
        require_pkce: true,
        is_first_party: true,
      },
    ]);
    expect(new Set(urls.map((url) => new URL(url).searchParams.get('client_id'))).size).toBe(1);
    await Promise.all([first, ...replicas].map((one) => one.close()));
  });

  it('gets a new secret if identity refuses the old one, or no key opens it', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    const [client] = [...provider.clients.values()];
    if (client === undefined) throw new Error('no client');
    client.secret = 'changed by an administrator';
    await app.sql(
      'UPDATE web_sessions SET access_expires_at = now(), refresh_at = now() WHERE identity_id = $1',
      [person.id],
    );
    expect(await userOf(browser)).toBe(person.id);
    const rotations = () => repairs('POST').filter((url) => url.endsWith('/rotate-secret')).length;
    expect(rotations()).toBe(1);
    const keys = { ...hosted, SESSION_KEYS: randomBytes(32).toString('base64') };
    const replica = await startTestApp(keys, { identity: provider.identity, databaseUrl: app.databaseUrl });
    await aSignedInBrowser(replica, provider);
    expect(rotations()).toBe(2);
    await replica.close();
    await aSignedInBrowser(app, provider);
  });

  it('is changed with the URL of the service', async () => {
    const moved = await startTestApp(
      { ...hosted, PUBLIC_BASE_URL: 'https://moved.test' },
      { identity: provider.identity, databaseUrl: app.databaseUrl },
    );
    const url = await new HostedBrowser(moved).begin('?moved=1');
    expect(new URL(url).searchParams.get('redirect_uri')).toBe('https://moved.test/app/oidc/callback');
    const [change] = provider.requests('PATCH', '/internal/clients/').slice(-1);
    expect(change?.body).toMatchObject({ redirect_uris: ['https://moved.test/app/oidc/callback'] });
    await moved.close();
  });

  it('may be one that the operator has registered', async () => {
    const [[clientId = '', client] = []] = [...provider.clients];
    const fixed = { OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: client?.secret ?? '' };
    const [before, other] = [creations().length, await startTestApp({ ...hosted, ...fixed }, provider)];
    await aSignedInBrowser(other, provider);
    expect(creations()).toHaveLength(before);
    await other.close();
  });

  it('is not registered again after an administrator has disabled it', async () => {
    const [before, [client]] = [creations().length, [...provider.clients.values()]];
    if (client === undefined) throw new Error('no client');
    client.disabled_at = new Date().toISOString();
    const browser = new HostedBrowser(app);
    const answer = provider.authorize(await browser.begin(), await provider.aPerson());
    expect(await browser.finish(answer)).toBe('/sign-in?problem=failed&next=%2Fissues');
    expect(creations()).toHaveLength(before);
    client.disabled_at = null;
  });

  it('is missing at an identity service without hosted sign-in', async () => {
    const other = await startTestApp(hosted);
    const { headers } = await other.http.get('/app/oidc/sign-in').set(navigation).expect(303);
    expect(headers.location).toBe(`${publicBaseUrl}/sign-in?problem=failed&next=%2Fissues`);
    expect(other.log.join('')).toContain('HOSTED_SIGN_IN=on');
    await other.close();
  });
});
