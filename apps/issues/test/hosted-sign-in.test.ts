import { createSecretKey, randomBytes, randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { expectProblem } from '@tessera/testing/problems';
import { pagePaths } from '../src/web-app/web-app.ts';
import { ownTarget, SignInFlows } from '../src/web-session/sign-in-flow.ts';
import { TokenSealer } from '../src/web-session/token-sealer.ts';
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

const flowsOf = ({ cookies }: HostedBrowser) =>
  [...cookies.keys()].filter((name) => name.startsWith('__Host-tessera-sign-in-'));

describe('the sign-in on the pages of identity', () => {
  it('goes there with a state, a nonce and a challenge, and comes back to the same place with a session', async () => {
    const browser = new HostedBrowser(app);
    const person = await provider.aPerson();
    const response = await browser.send(
      'get',
      '/app/oidc/sign-in?next=%2Fissues%2FISS-1%3Fq%3Da%23c2&login_hint=a%40b.test',
    );
    const url = new URL(response.headers.location ?? '');
    expect([response.status, `${url.origin}${url.pathname}`]).toEqual([303, `${provider.issuer}/authorize`]);
    const random = expect.stringMatching(/^[A-Za-z0-9_-]{43}$/);
    expect(Object.fromEntries(url.searchParams)).toEqual({
      response_type: 'code',
      client_id: [...provider.clients.keys()][0],
      redirect_uri: `${publicBaseUrl}/app/oidc/callback`,
      scope: 'openid email profile',
      state: random,
      nonce: random,
      code_challenge: random,
      code_challenge_method: 'S256',
      login_hint: 'a@b.test',
    });
    expect(response.headers['cache-control']).toBe('no-store');
    const [set = ''] = response.headers['set-cookie'] ?? [];
    expect(set).toMatch(
      /^__Host-tessera-sign-in-[\w-]{8}=[\w-]+; Max-Age=600; Path=\/; Secure; HttpOnly; SameSite=Lax$/,
    );
    expect(await browser.finish(provider.authorize(url.href, person))).toBe('/issues/ISS-1?q=a#c2');
    expect(flowsOf(browser)).toEqual([]);
    const { body } = await browser.send('get', '/app/session', sameOrigin).expect(200);
    expect([body.user.id, body.sign_in]).toEqual([person.id, 'hosted']);
    const [row] = await app.sql('SELECT client_id, sso_session_id FROM web_sessions WHERE identity_id = $1', [
      person.id,
    ]);
    expect(row).toEqual({ client_id: [...provider.clients.keys()][0], sso_session_id: `sso-${person.id}` });
  });

  it('tells the app before the sign-in, and has no form', async () => {
    const { body } = await app.http.get('/app/session').set(sameOrigin).expect(200);
    expect(body).toEqual({ user: null, events_cursor: null, sign_in: 'hosted' });
    const refused = await app.http
      .post('/app/session')
      .set({ ...sameOrigin, 'X-Tessera-App': '1' })
      .send({ email: 'a@b.test', password: 'x' });
    expectProblem(refused, 405, 'method_not_allowed');
  });

  it('has no paths with a form', async () => {
    const form = await startTestApp({ ...hosted, SIGN_IN: 'form' });
    for (const path of ['sign-in', 'callback', 'sign-out'])
      expectProblem(await form.http.get(`/app/oidc/${path}`), 404, 'not_found');
    expectProblem(
      await form.http.post('/app/oidc/backchannel-logout').set({ ...sameOrigin, 'X-Tessera-App': '1' }),
      404,
      'not_found',
    );
    await form.close();
  });

  it.each([
    ['//evil.test/issues'],
    ['/\\evil.test/issues'],
    ['https://evil.test/issues'],
    ['javascript:alert(1)//issues'],
    ['/app/session'],
    ['/issuesx'],
    ['/issues/../api/docs/'],
    [`/issues?q=${'a'.repeat(512)}`],
    ['https://issues.test:8443/issues'],
    ['https://issues.test@evil.test/issues'],
  ])('returns to the list instead of %s', async (next) => {
    const browser = new HostedBrowser(app);
    const url = await browser.begin(`?${new URLSearchParams({ next })}`);
    expect(await browser.finish(provider.authorize(url, await provider.aPerson()))).toBe('/issues');
  });

  it('returns to each page of the app with its query, but never to the sign-in itself', () => {
    for (const path of pagePaths.filter((one) => one !== '/sign-in')) {
      const next = `${path.replace(/:.*/, 'x')}?a=b#c`;
      expect(ownTarget(next, publicBaseUrl)).toBe(next);
    }
    for (const next of ['/sign-in', '/sign-in?next=/board', '/', '/app/session', '/inboxes'])
      expect(ownTarget(next, publicBaseUrl)).toBe('/issues');
  });

  it('begins at the host to which identity leads back, whose cookies it needs', async () => {
    const sent = (query: string) =>
      app.http.get(`/app/oidc/sign-in${query}`).set({ ...navigation, Host: 'localhost:3002' });
    const { headers } = await sent('?next=%2Fboard&prompt=login').expect(303);
    expect(headers.location).toBe(`${publicBaseUrl}/app/oidc/sign-in?next=%2Fboard&prompt=login&moved=1`);
    expect(headers['set-cookie']).toBeUndefined();
    // Behind a proxy that changes the header, it begins all the same.
    const { headers: second } = await sent('?next=%2Fboard&moved=1').expect(303);
    expect(second.location).toMatch(`${provider.issuer}/authorize?`);
  });

  it('tells the app that the window was opened over a page', async () => {
    const browser = new HostedBrowser(app);
    const url = await browser.begin('?popup=1&next=/board');
    expect(await browser.finish(provider.authorize(url, await provider.aPerson()))).toBe('/sign-in?popup=1');
  });

  it('keeps the flows of several tabs apart, and the newest six', async () => {
    const browser = new HostedBrowser(app);
    const person = await provider.aPerson();
    const urls: string[] = [];
    for (const tab of [1, 2, 3, 4, 5, 6, 7]) urls.push(await browser.begin(`?next=/issues/ISS-${tab}`));
    expect(flowsOf(browser)).toHaveLength(6);
    const finish = (tab: number) => browser.finish(provider.authorize(urls[tab - 1] ?? '', person));
    expect(await finish(3)).toBe('/issues/ISS-3');
    expect(await finish(2)).toBe('/issues/ISS-2');
    expect(await finish(7)).toBe('/issues/ISS-7');
    expect(await finish(1)).toBe('/sign-in?problem=expired');
  });

  it('ends the session that the browser had', async () => {
    const { browser, person } = await aSignedInBrowser(app, provider);
    await browser.finish(provider.authorize(await browser.begin(), await provider.aPerson()));
    const rows = await app.sql('SELECT 1 FROM web_sessions WHERE identity_id = $1', [person.id]);
    expect(rows).toEqual([]);
    expect(provider.requests('POST', '/oidc/revoke')).not.toEqual([]);
  });
});

describe('a response of identity', () => {
  const change = (change: (query: URLSearchParams) => void) => ({ query: change });
  const withClaims = (claims: Record<string, unknown>, typ = 'JWT') => ({ grant: { claims, typ } });

  it.each<[string, { query?: (query: URLSearchParams) => void; grant?: object }, string]>([
    ['another state', change((query) => query.set('state', randomUUID())), 'expired'],
    ['no state', change((query) => query.delete('state')), 'expired'],
    ['an unknown code', change((query) => query.set('code', randomUUID())), 'expired'],
    ['another issuer', change((query) => query.set('iss', 'https://other.test/oidc')), 'failed'],
    ['no issuer', change((query) => query.delete('iss')), 'failed'],
    ['neither code nor error', change((query) => query.delete('code')), 'failed'],
    ['a code and an error', change((query) => query.set('error', 'access_denied')), 'failed'],
    ['an ID token with another nonce', withClaims({ nonce: 'other' }), 'failed'],
    ['an ID token without a nonce', withClaims({ nonce: undefined }), 'failed'],
    ['an ID token for another client', withClaims({ aud: randomUUID() }), 'failed'],
    ['an ID token for this client and another', withClaims({ aud: [randomUUID(), randomUUID()] }), 'failed'],
    ['an ID token of another issuer', withClaims({ iss: 'https://other.test/oidc' }), 'failed'],
    ['an expired ID token', withClaims({ exp: 0 }), 'failed'],
    ['an ID token of another person', withClaims({ sub: randomUUID() }), 'failed'],
    ['an access token as ID token', withClaims({}, 'access'), 'failed'],
    ['a refresh token as ID token', withClaims({}, 'rt+jwt'), 'failed'],
  ])('with %s starts no session', async (_name, { query: alter, grant }, problem) => {
    const browser = new HostedBrowser(app);
    const person = await provider.aPerson();
    const answer = provider.authorize(await browser.begin('?next=/board'), person, grant);
    alter?.(answer.query);
    // Without its state, the place is not known.
    expect(await browser.finish(answer)).toMatch(
      new RegExp(`^/sign-in\\?problem=${problem}(&next=%2Fboard)?$`),
    );
    expect(browser.cookies.has(sessionCookie)).toBe(false);
    expect(await app.sql('SELECT 1 FROM web_sessions WHERE identity_id = $1', [person.id])).toEqual([]);
  });

  it.each([
    ['access_denied', 'refused'],
    ['temporarily_unavailable', 'unavailable'],
    ['login_required', 'failed'],
  ])('with the error %s returns to the sign-in page', async (error, problem) => {
    const browser = new HostedBrowser(app);
    const { path, query } = provider.authorize(await browser.begin('?next=/board'), await provider.aPerson());
    query.delete('code');
    query.set('error', error);
    expect(await browser.finish({ path, query })).toBe(`/sign-in?problem=${problem}&next=%2Fboard`);
  });

  it('is used once, by the browser that began the sign-in, within ten minutes', async () => {
    const [browser, other] = [new HostedBrowser(app), new HostedBrowser(app)];
    const answer = provider.authorize(await browser.begin(), await provider.aPerson());
    expect(await other.finish(answer)).toBe('/sign-in?problem=expired');
    expect(await browser.finish(answer)).toBe('/issues');
    expect(await browser.finish(answer)).toBe('/sign-in?problem=expired');
  });

  it('is a navigation, and may begin at another site', async () => {
    for (const site of ['none', 'cross-site', 'same-site', 'same-origin'])
      for (const path of ['/app/oidc/sign-in', '/app/oidc/callback']) {
        const sent = (more: object) =>
          app.http.get(path).set({ ...navigation, 'Sec-Fetch-Site': site, ...more });
        expect((await sent({})).status).toBe(303);
        expectProblem(await sent({ 'Sec-Fetch-Mode': 'cors' }), 403, 'cross_site_request');
        expectProblem(await sent({ 'Sec-Fetch-Dest': 'iframe' }), 403, 'cross_site_request');
        expectProblem(await sent({ 'Sec-Purpose': 'prefetch' }), 403, 'cross_site_request');
      }
  });

  it('leads to the sign-in page if an address signs in too often', async () => {
    const limited = await startTestApp({ ...hosted, RATE_LIMIT_SIGN_INS_PER_MINUTE: '1' }, provider);
    const finish = async () => {
      const browser = new HostedBrowser(limited);
      return browser.finish(
        provider.authorize(await browser.begin('?next=/board'), await provider.aPerson()),
      );
    };
    expect([await finish(), await finish()]).toEqual([
      '/board',
      '/sign-in?problem=unavailable&next=%2Fboard',
    ]);
    await limited.close();
  });

  it('is refused after ten minutes', () => {
    let now = 0;
    const sealer = new TokenSealer([createSecretKey(randomBytes(32))]);
    const flows = new SignInFlows({ sealer, isSecure: true, now: () => now });
    const { flow, cookies } = flows.begin({ headers: {} }, { target: '/board' });
    const request = { headers: { cookie: cookies[0]?.split(';')[0] } };
    now = 600_000;
    expect(flows.end(request, flow.state)?.flow.target).toBe('/board');
    now += 1;
    expect(flows.end(request, flow.state)).toBeUndefined();
  });

  it('with a cookie that this service has not sealed, or sealed for another flow, starts no session', async () => {
    const [browser, other] = [new HostedBrowser(app), new HostedBrowser(app)];
    const person = await provider.aPerson();
    const [first, second] = [await browser.begin(), await other.begin()];
    const [[name = ''] = [], [, foreign = ''] = []] = [[...browser.cookies][0], [...other.cookies][0]];
    for (const value of [foreign, 'AAAA', '']) {
      const kept = new HostedBrowser(app);
      kept.cookies.set(name, value);
      for (const url of [first, second])
        expect(await kept.finish(provider.authorize(url, person))).toBe('/sign-in?problem=expired');
    }
    expect(await app.sql('SELECT 1 FROM web_sessions WHERE identity_id = $1', [person.id])).toEqual([]);
  });

  it('leads to the sign-in page while identity is down', async () => {
    const { answer } = provider.identity;
    const browser = new HostedBrowser(app);
    const person = await provider.aPerson();
    const returned = provider.authorize(await browser.begin('?next=/board'), person);
    provider.identity.answer = json(503, {});
    expect(await browser.finish(returned)).toBe('/sign-in?problem=unavailable&next=%2Fboard');
    provider.identity.answer = answer;
    expect(await browser.finish(provider.authorize(await browser.begin('?next=/board'), person))).toBe(
      '/board',
    );
  });
});
