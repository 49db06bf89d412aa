import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Browser, ownPage } from './support/browser.ts';
import { publicBaseUrl } from './support/environment.ts';
import { IdentityService } from './support/identity-service.ts';
import { anEmail, password } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

const sites = [undefined, 'same-origin', 'same-site', 'cross-site', 'none', 'Same-Origin'];
const origins = [undefined, publicBaseUrl, `${publicBaseUrl}:8443`, 'https://evil.test', 'null'];
const markers = [undefined, '1', '0'];
const types = [
  'application/json',
  'application/json; charset=utf-8',
  'text/plain',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'application/jsonp',
];

interface Attempt {
  site: string | undefined;
  origin: string | undefined;
  marker: string | undefined;
}

const attempts: Attempt[] = sites.flatMap((site) =>
  origins.flatMap((origin) => markers.map((marker) => ({ site, origin, marker }))),
);
const forEachAttempt = (check: (attempt: Attempt) => Promise<void>) => Promise.all(attempts.map(check));
const isJson = (type: string) => /^application\/json(;|$)/.test(type);
const comesFromApp = ({ site, origin }: Attempt) =>
  site === 'same-origin' || (site === undefined && origin === publicBaseUrl);

describe('cross-site requests below /app', () => {
  let identity: IdentityService;
  let app: TestApp;
  let cookie: string;
  let user: string;
  beforeAll(async () => {
    identity = await IdentityService.start();
    app = await startTestApp({ WEB_APP: 'on', CORS_ORIGINS: 'https://evil.test' }, { identity });
    const { email, id } = await identity.create({ email: anEmail(), password });
    user = id;
    const browser = new Browser(app.http);
    await browser.signIn(email, password).expect(200);
    cookie = browser.cookie ?? '';
  });
  afterAll(async () => {
    await app.close();
    await identity.stop();
  });

  async function send(method: 'get' | 'post' | 'delete', path: string, attempt: Attempt, type?: string) {
    const request = app.http[method](path).set({ Cookie: cookie, 'X-Tessera-User': user });
    if (attempt.site !== undefined) request.set('Sec-Fetch-Site', attempt.site);
    if (attempt.origin !== undefined) request.set('Origin', attempt.origin);
    if (attempt.marker !== undefined) request.set('X-Tessera-App', attempt.marker);
    if (type !== undefined) request.set('Content-Type', type);
    const { status, body, headers } = method === 'post' ? await request.send('{"title":"x"}') : await request;
    expect(Object.keys(headers).filter((name) => name.startsWith('access-control'))).toEqual([]);
    return [status, status < 400 ? undefined : body.code];
  }

  it.each(['/app/session', '/app/sessions', '/app/api/v1/users/me/', '/app/nothing'])(
    'may read %s only from the own origin',
    async (path) => {
      await forEachAttempt(async (attempt) => {
        const isOwn = attempt.site === undefined || attempt.site === 'same-origin';
        const expected = path === '/app/nothing' ? [404, 'not_found'] : [200, undefined];
        expect([attempt, await send('get', path, attempt)]).toEqual([
          attempt,
          isOwn ? expected : [403, 'cross_site_request'],
        ]);
      });
    },
  );

  it('may write only from the own origin, with the header of the app and JSON', async () => {
    for (const type of types) {
      await forEachAttempt(async (attempt) => {
        const isAllowed = comesFromApp(attempt) && attempt.marker === '1';
        const refused = isAllowed ? [415, 'unsupported_media_type'] : [403, 'cross_site_request'];
        expect([attempt, type, await send('post', '/app/api/v1/issues/', attempt, type)]).toEqual([
          attempt,
          type,
          isAllowed && isJson(type) ? [201, undefined] : refused,
        ]);
      });
    }
    const [row] = await app.sql('SELECT count(*)::int AS issues FROM issues');
    expect(row).toEqual({
      issues: 2 * attempts.filter((attempt) => comesFromApp(attempt) && attempt.marker === '1').length,
    });
  });

  it('may upload files of any type, only from the own origin with the header of the app', async () => {
    for (const type of ['image/png', 'text/plain']) {
      await forEachAttempt(async (attempt) => {
        const isAllowed = comesFromApp(attempt) && attempt.marker === '1';
        expect([attempt, await send('post', '/app/api/v1/attachments/?name=a', attempt, type)]).toEqual([
          attempt,
          isAllowed ? [201, undefined] : [403, 'cross_site_request'],
        ]);
      });
    }
  });

  it('may show files in images of the own pages, and open one by its URL, without a header of the page', async () => {
    const { body: file } = await app.http
      .post('/app/api/v1/attachments/?name=a')
      .set({ ...ownPage, Cookie: cookie, 'X-Tessera-User': user, 'Content-Type': 'image/png' })
      .send('a file')
      .expect(201);
    const read = async (
      headers: Record<string, string>,
      part = 'content/',
      method: 'get' | 'delete' = 'get',
    ) => {
      const request = app.http[method](`/app/api/v1/attachments/${file.id}/${part}`);
      return (await request.set({ Cookie: cookie, ...headers })).status;
    };
    const opened = { 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'navigate' };
    expect(await read({ 'Sec-Fetch-Site': 'same-origin', 'Sec-Fetch-Mode': 'no-cors' })).toBe(200);
    expect(await read(opened)).toBe(200);
    for (const site of ['same-site', 'cross-site'])
      expect(await read({ 'Sec-Fetch-Site': site, 'Sec-Fetch-Mode': 'navigate' })).toBe(403);
    expect(await read({ 'Sec-Fetch-Site': 'none', 'Sec-Fetch-Mode': 'no-cors' })).toBe(403);
    expect(await read(opened, '')).toBe(403);
    expect(await read(opened, '', 'delete')).toBe(403);
    expect((await app.http.get(`/app/api/v1/attachments/${file.id}/content/`).set(opened)).status).toBe(401);
  });

  it('may delete only from the own origin with the header of the app', async () => {
    await forEachAttempt(async (attempt) => {
      const isAllowed = comesFromApp(attempt) && attempt.marker === '1';
      const path = '/app/api/v1/issues/ISS-1/watch/';
      expect([attempt, await send('delete', path, attempt)]).toEqual([
        attempt,
        isAllowed ? [204, undefined] : [403, 'cross_site_request'],
      ]);
    });
  });

  it('may send no form, also where no body is read', async () => {
    const watch = (type?: string) => {
      const request = app.http
        .put('/app/api/v1/issues/ISS-1/watch/')
        .set({ ...ownPage, Cookie: cookie, 'X-Tessera-User': user });
      return type === undefined ? request : request.set('Content-Type', type).send('a=b');
    };
    for (const type of types) {
      const { status } = await watch(type);
      expect([type, status < 400]).toEqual([type, isJson(type)]);
      if (!isJson(type)) expect(status).toBe(415);
    }
    expect((await watch()).status).toBeLessThan(300);
  });

  it('may not sign in or out, which would let a page choose the account', async () => {
    await forEachAttempt(async (attempt) => {
      if (comesFromApp(attempt) && attempt.marker === '1') return;
      const refused = [403, 'cross_site_request'];
      expect(await send('delete', '/app/session', attempt)).toEqual(refused);
      expect(await send('post', '/app/session', attempt, 'application/json')).toEqual(refused);
    });
    expect(
      await send('get', '/app/api/v1/users/me/', { site: 'same-origin', origin: undefined, marker: '1' }),
    ).toEqual([200, undefined]);
  });

  it('get no permission from a preflight', async () => {
    for (const path of ['/app/session', '/app/api/v1/issues/', '/app/nothing']) {
      const response = await app.http.options(path).set({
        Origin: 'https://evil.test',
        'Access-Control-Request-Method': 'POST',
        'Sec-Fetch-Site': 'cross-site',
      });
      expect([path, response.status, response.body.code]).toEqual([path, 403, 'cross_site_request']);
      expect(response.headers['access-control-allow-origin']).toBeUndefined();
    }
  });
});
