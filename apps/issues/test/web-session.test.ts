import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { expectProblem } from '@tessera/testing/problems';
import pg from 'pg';
import { CleanupRepository } from '../src/cleanup/cleanup.repository.ts';
import { cleanupTasks } from '../src/cleanup/cleanup-tasks.ts';
import { WebSessionRepository } from '../src/web-session/web-session.repository.ts';
import { Browser } from './support/browser.ts';
import { openReady } from './support/event-stream.ts';
import { IdentityService } from './support/identity-service.ts';
import { anEmail, aPerson, password } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

const keys = [randomBytes(32).toString('base64'), randomBytes(32).toString('base64url')] as const;
const webApp = { WEB_APP: 'on', SESSION_KEYS: keys[0], RATE_LIMIT_SIGN_INS_PER_MINUTE: '0' };

let identity: IdentityService;
let identityDatabase: pg.Pool;
let app: TestApp;
beforeAll(async () => {
  identity = await IdentityService.start({ RATE_LIMIT_TOKENS_PER_MINUTE: '0' });
  identityDatabase = new pg.Pool({ connectionString: identity.databaseUrl, max: 1 });
  app = await startTestApp(webApp, { identity });
});
afterAll(async () => {
  await app.close();
  await identityDatabase.end();
  await identity.stop();
});

async function aSignedInBrowser(on: TestApp = app) {
  const { email, id } = await identity.create({ email: anEmail(), password });
  const browser = new Browser(on.http);
  await browser.signIn(email, password).expect(200);
  return { browser, email, id };
}

/** Moves the times of all sessions of an identity into the past. */
const moveClock = (id: string, minutes: number) =>
  app.sql(
    `UPDATE web_sessions SET access_expires_at = access_expires_at - $2 * interval '1 minute',
       refresh_at = refresh_at - $2 * interval '1 minute', refreshing_until = refreshing_until - $2 * interval '1 minute'
      WHERE identity_id = $1`,
    [id, minutes],
  );
const rowsOf = (id: string) =>
  app.sql<{
    generation: number;
    revoke_pending: boolean;
    access_token: Buffer;
    refresh_token: Buffer;
    id_hash: Buffer;
  }>('SELECT * FROM web_sessions WHERE identity_id = $1 ORDER BY created_at', [id]);
const me = '/app/api/v1/users/me/';
/** Lets the service read identity's events up to now. */
async function readEvents() {
  await untilDeliverable({
    sql: async (text: string, values: unknown[] = []) => (await identityDatabase.query(text, values)).rows,
  });
  await app.sql('UPDATE mirror_feed SET next_read_at = now()');
  await app.dependencies.feed.run();
}

describe('the session of the web app', () => {
  it('begins with a temporary password only together with an own one', async () => {
    const { email, id } = await identity.create({ email: anEmail(), password, password_is_temporary: true });
    const browser = new Browser(app.http);
    const start = (more: object) => browser.send('post', '/app/session', { email, password, ...more });
    expectProblem(await start({}), 401, 'password_change_required');
    const refused = await start({ new_password: 'short' }).expect(422);
    expect(refused.body.errors).toEqual([
      { field: 'new_password', message: 'must be at least 8 characters' },
    ]);
    expect(browser.cookie).toBeUndefined();
    const { body } = await start({ new_password: 'paper boat in the harbour' }).expect(200);
    expect(body.user.id).toBe(id);
    expectProblem(await start({}), 401, 'invalid_grant');

    const late = await identity.create({ email: anEmail(), password, password_is_temporary: true });
    await identityDatabase.query('UPDATE identities SET password_expires_at = now() WHERE id = $1', [
      late.id,
    ]);
    const expired = await browser.send('post', '/app/session', { email: late.email, password });
    expectProblem(expired, 401, 'password_expired');
  });

  it('starts with a sign-in, gives the user, and ends with a sign-out that identity knows', async () => {
    const { email, id } = await identity.create({ email: anEmail(), password, username: 'ann' });
    const browser = new Browser(app.http);
    expect((await browser.get('/app/session').expect(200)).body).toEqual({ user: null, events_cursor: null });
    const { body } = await browser.signIn(email, password).expect(200);
    expect(body).toEqual({
      user: expect.objectContaining({ id, email, username: 'ann' }),
      events_cursor: expect.any(String),
      expires_at: expect.any(String),
    });
    expect((await browser.get('/app/session').expect(200)).body.user).toEqual(body.user);
    expect((await browser.get(me).expect(200)).body).toEqual(body.user);
    const issue = await browser.send('post', '/app/api/v1/issues/', { title: 'From the app' }).expect(201);
    expect(issue.body.reporter.id).toBe(id);
    await untilDeliverable(app);
    const feed = await browser.get(`/app/api/v1/events/?after=${body.events_cursor}`).expect(200);
    expect(feed.body.events.map(({ data }: { data: { issue_id: string } }) => data.issue_id)).toEqual([
      issue.body.id,
    ]);
    const signedIn = browser.on(app);
    const { headers } = await browser.send('delete', '/app/session').expect(204);
    expect([browser.sessionId, headers['clear-site-data']]).toEqual(['', '"cache"']);
    expectProblem(await signedIn.get(me), 401, 'session_ended');
    expect(await rowsOf(id)).toEqual([]);
    const again = new Browser(app.http);
    await again.signIn(email, password).expect(200);
    expect((await again.get('/app/sessions').expect(200)).body.sessions).toHaveLength(1);
  });

  it('sets a cookie that only this host gets, over https, and no script reads', async () => {
    const { email } = await identity.create({ email: anEmail(), password });
    const { headers } = await new Browser(app.http).signIn(email, password).expect(200);
    expect(headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^__Host-tessera=[A-Za-z0-9_-]{43}; Max-Age=34560000; Path=\/; Secure; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    expect(headers['cache-control']).toBe('no-store');
    const loopback = await startTestApp({ ...webApp, PUBLIC_BASE_URL: 'http://localhost:3002' }, app);
    const response = await new Browser(loopback.http).signIn(email, password).expect(200);
    expect(response.headers['set-cookie']).toEqual([
      expect.stringMatching(
        /^tessera=[A-Za-z0-9_-]{43}; Max-Age=34560000; Path=\/; HttpOnly; SameSite=Strict$/,
      ),
    ]);
    await loopback.close();
  });

  it('gets a new random id at each sign-in, not that of the browser, and replaces the old session', async () => {
    const { email, id } = await identity.create({ email: anEmail(), password });
    const browser = new Browser(app.http);
    const fixed = randomBytes(32).toString('base64url');
    browser.cookie = `__Host-tessera=${fixed}`;
    await browser.signIn(email, password).expect(200);
    const first = browser.on(app);
    expect(first.sessionId).not.toBe(fixed);
    await browser.signIn(email, password).expect(200);
    expect(browser.sessionId).not.toBe(first.sessionId);
    expectProblem(await first.get(me), 401, 'session_ended');
    await browser.get(me).expect(200);
    expect(await rowsOf(id)).toHaveLength(1);
  });

  it('passes the refusals of identity on', async () => {
    const { email } = await identity.create({ email: anEmail(), password });
    const browser = new Browser(app.http);
    const wrong = await browser.signIn(email, 'not the password');
    expectProblem(wrong, 401, 'invalid_grant');
    expect([wrong.body.detail, wrong.headers['set-cookie']]).toEqual([
      'Invalid email or password.',
      undefined,
    ]);
    expectProblem(await browser.signIn('', password), 422, 'validation_failed');
    expectProblem(await browser.signIn(email, 'x'.repeat(20_000)), 413, 'body_too_large');
  });

  it('requires a session below /app/api/v1 and ignores cookies below /api/v1', async () => {
    const { browser } = await aSignedInBrowser();
    const stranger = new Browser(app.http);
    for (const path of [me, '/app/api/v1/nothing', '/app/sessions'])
      expectProblem(await stranger.get(path), 401, 'unauthorized');
    stranger.cookie = `__Host-tessera=${randomBytes(32).toString('base64url')}`;
    const refused = await stranger.get(me);
    expectProblem(refused, 401, 'session_ended');
    expect(refused.headers['www-authenticate']).toBe('Cookie realm="issues"');
    expect((await stranger.get('/app/session').expect(200)).body).toEqual({
      user: null,
      events_cursor: null,
    });
    expectProblem(await browser.get('/api/v1/users/me/'), 401, 'unauthorized');
    expectProblem(await browser.get('/app/api/v1/nothing'), 404, 'not_found');
    expectProblem(await browser.get('/app/nothing'), 404, 'not_found');
    const ann = await aPerson(app);
    expectProblem(await ann.get(me), 401, 'unauthorized');
  });

  it('is 404 everywhere without WEB_APP', async () => {
    const off = await startTestApp({}, app);
    for (const path of ['/app/session', '/app/sessions', me, '/app/api/v1/issues/', '/app'])
      expectProblem(await new Browser(off.http).get(path), 404, 'not_found');
    expectProblem(await new Browser(off.http).signIn(anEmail(), password), 404, 'not_found');
    await off.close();
  });

  it('keeps the newest 100 sessions of an identity', async () => {
    const { browser, email, id } = await aSignedInBrowser();
    await app.sql(
      `INSERT INTO web_sessions (id_hash, identity_id, access_token, refresh_token, access_expires_at, refresh_at,
         expires_at, address, created_at)
       SELECT sha256(n::text::bytea), $1, '', '', now(), now(), now() + interval '1 day', '', now() + interval '1 second'
         FROM generate_series(1, 99) n`,
      [id],
    );
    await new Browser(app.http).signIn(email, password).expect(200);
    expectProblem(await browser.get(me), 401, 'session_ended');
    expect((await rowsOf(id)).filter((row) => !row.revoke_pending)).toHaveLength(100);
  });

  it('lists the sessions of the user with their browsers and ends them', async () => {
    const { browser, email, id } = await aSignedInBrowser();
    const laptop = new Browser(app.http, { 'User-Agent': 'Laptop/1.0' });
    await laptop.signIn(email, password).expect(200);
    const { sessions } = (await laptop.get('/app/sessions').expect(200)).body;
    expect(sessions).toEqual([
      expect.objectContaining({ is_current: true, user_agent: 'Laptop/1.0' }),
      expect.objectContaining({ is_current: false }),
    ]);
    const { browser: stranger } = await aSignedInBrowser();
    expectProblem(await stranger.send('delete', `/app/sessions/${sessions[1].id}`), 404, 'session_not_found');
    await laptop.send('delete', `/app/sessions/${sessions[1].id}`).expect(204);
    expectProblem(await browser.get(me), 401, 'session_ended');
    await laptop.get(me).expect(200);
    const { headers } = await laptop.send('delete', '/app/sessions').expect(204);
    expect([laptop.sessionId, headers['clear-site-data']]).toEqual(['', '"cache"']);
    expect(await rowsOf(id)).toEqual([]);
  });

  it('limits sign-ins per address', async () => {
    const limited = await startTestApp({ ...webApp, RATE_LIMIT_SIGN_INS_PER_MINUTE: '2' }, app);
    const { email } = await identity.create({ email: anEmail(), password });
    const browser = new Browser(limited.http);
    await browser.signIn(email, password).expect(200);
    await browser.signIn(email, password).expect(200);
    const refused = await browser.signIn(email, password);
    expectProblem(refused, 429, 'too_many_requests');
    expect(Number(refused.headers['retry-after'])).toBeGreaterThan(0);
    await limited.close();
  });

  it('limits sign-ins of an IPv6 network together, and of an IPv4 address in each spelling', async () => {
    const limited = await startTestApp(
      { ...webApp, RATE_LIMIT_SIGN_INS_PER_MINUTE: '1', TRUST_PROXY: 'loopback' },
      app,
    );
    const { email } = await identity.create({ email: anEmail(), password });
    const from = (address: string) =>
      new Browser(limited.http, { 'X-Forwarded-For': address }).signIn(email, password);
    for (const [first, second, other] of [
      ['2001:db8:0:1::1', '2001:db8:0:1:ffff::2', '2001:db8:0:2::1'],
      ['203.0.113.9', '::ffff:203.0.113.9', '203.0.113.10'],
    ] as const) {
      await from(first).expect(200);
      expectProblem(await from(second), 429, 'too_many_requests');
      await from(other).expect(200);
    }
    await limited.close();
  });
});

describe('a stream of events', () => {
  const ends = /: session_ended\n\n$/;

  it('ends on every replica after a sign-out, and others go on', async () => {
    const replica = await startTestApp(webApp, app);
    const { browser, email } = await aSignedInBrowser();
    const laptop = new Browser(app.http);
    await laptop.signIn(email, password).expect(200);
    const [other, ...streams] = await Promise.all([
      openReady(replica.url, laptop),
      openReady(app.url, browser),
      openReady(replica.url, browser),
    ]);
    await browser.send('delete', '/app/session').expect(204);
    for (const stream of streams) {
      await stream.ended;
      expect(stream.text()).toMatch(ends);
    }
    expect(other?.text()).not.toMatch(ends);
    await laptop.send('delete', '/app/sessions').expect(204);
    await other?.ended;
    await replica.close();
  });

  it('ends when identity has ended the session, with a token when it has ended all or the password is new', async () => {
    const { browser, email, id } = await aSignedInBrowser();
    const laptop = new Browser(app.http);
    await laptop.signIn(email, password).expect(200);
    const token = async () => ({ token: (await identity.signIn(email, password)).access_token });
    const withToken = await openReady(app.url, await token());
    const ended = await openReady(app.url, browser);
    const { sessions } = (await browser.get('/app/sessions').expect(200)).body;
    await readEvents();
    await identity.endSession(id, sessions.find((one: { is_current: boolean }) => one.is_current).id);
    await readEvents();
    await ended.ended;
    const onLaptop = await openReady(app.url, laptop);
    expect([ended.text(), withToken.text()]).toEqual([
      expect.stringMatching(ends),
      expect.not.stringMatching(ends),
    ]);
    await identity.endSessions(id);
    await readEvents();
    await Promise.all([onLaptop.ended, withToken.ended]);
    const after = await openReady(app.url, await token());
    await identity.update(id, { password: 'another password of the tests' });
    await readEvents();
    await after.ended;
    for (const stream of [onLaptop, withToken, after]) expect(stream.text()).toMatch(ends);
  });

  it('is not opened again, on any replica, with a token of before all sessions have ended', async () => {
    const replica = await startTestApp(webApp, app);
    const { email, id } = await aSignedInBrowser();
    const signIn = async () => ({ token: (await identity.signIn(email, password)).access_token });
    const old = await signIn();
    const get = ({ token }: { token: string }, { http }: TestApp, path = '/api/v1/events/stream/') =>
      http.get(path).auth(token, { type: 'bearer' });
    for (const each of [app, replica]) await get(old, each, '/api/v1/users/me/').expect(200);
    await readEvents();
    await identity.endSessions(id);
    const later = await signIn();
    await readEvents();
    for (const each of [app, replica]) {
      // For some seconds, a process knows the person from before. Streams that it opens are ended.
      let refused = await get(old, each);
      while (refused.status === 200) refused = await get(old, each);
      expectProblem(refused, 401, 'invalid_token');
      expectProblem(await get(old, each, '/api/v1/issues/'), 401, 'invalid_token');
      const stream = await openReady(each.url, later);
      await get(later, each, '/api/v1/issues/').expect(200);
      expect(stream.text()).not.toMatch(ends);
      stream.close();
    }
    await replica.close();
  });
});

describe('the tokens of a session', () => {
  it('are refreshed at half of their life, without a wait', async () => {
    const { browser, id } = await aSignedInBrowser();
    await moveClock(id, 8);
    await browser.get(me).expect(200);
    for (;;) {
      const [row] = await rowsOf(id);
      if (row?.generation === 2) break;
      await browser.get(me).expect(200);
    }
    await moveClock(id, 20);
    await browser.get(me).expect(200);
    expect((await rowsOf(id))[0]?.generation).toBe(3);
    expect(await app.dependencies.metrics.registry.metrics()).toContain(
      'issues_session_refreshes_total{outcome="refreshed",service="issues"} 2',
    );
  });

  it('survive 20 minutes without identity: 503, and then the session goes on', async () => {
    const { browser, id } = await aSignedInBrowser();
    await identity.down();
    try {
      await moveClock(id, 8);
      for (let request = 0; request < 5; request += 1) await browser.get(me).expect(200);
      await moveClock(id, 12);
      const refused = await browser.get(me);
      expectProblem(refused, 503, 'session_unavailable');
      expect(refused.headers['retry-after']).toBe('5');
      expectProblem(await browser.get('/app/session'), 503, 'session_unavailable');
      expectProblem(await new Browser(app.http).signIn(anEmail(), password), 503, 'identity_unavailable');
    } finally {
      await identity.up();
    }
    await moveClock(id, 1);
    await browser.get(me).expect(200);
    expect((await rowsOf(id))[0]?.generation).toBe(2);
  });

  it('end with the password, at the next refresh', async () => {
    const { browser, id } = await aSignedInBrowser();
    await identity.update(id, { password: 'another password of the tests' });
    await browser.get(me).expect(200);
    await moveClock(id, 20);
    expectProblem(await browser.get(me), 401, 'session_ended');
    expect(await rowsOf(id)).toEqual([]);
  });

  it("end within seconds of identity's event, and a later session goes on", async () => {
    const { browser, email, id } = await aSignedInBrowser();
    const laptop = new Browser(app.http);
    await laptop.signIn(email, password).expect(200);
    const { sessions } = (await laptop.get('/app/sessions').expect(200)).body;
    await readEvents();
    await identity.endSession(id, sessions[1].id);
    await readEvents();
    expectProblem(await browser.get(me), 401, 'session_ended');
    expect((await rowsOf(id)).map(({ generation }) => generation)).toEqual([1]);
    await identity.update(id, { password });
    const later = new Browser(app.http);
    await later.signIn(email, password).expect(200);
    await readEvents();
    expectProblem(await laptop.get(me), 401, 'session_ended');
    await later.get(me).expect(200);
  });

  it('are kept, with 503, by a process whose clock differs from that of the database', async () => {
    const real = Date.now;
    let difference = 0;
    const clock = jest.spyOn(Date, 'now').mockImplementation(() => real() + difference);
    const wrong = await startTestApp(webApp, app);
    const { browser, id } = await aSignedInBrowser();
    for (const minutes of [16, -1]) {
      difference = minutes * 60_000;
      expectProblem(await browser.on(wrong).get(me), 503, 'session_unavailable');
      expectProblem(await browser.on(wrong).get('/app/session'), 503, 'session_unavailable');
    }
    const { body } = await wrong.http.get('/readyz').expect(503);
    expect(body.checks).toMatchObject({ clock: false, database: true });
    difference = 0;
    await browser.on(wrong).get(me).expect(200);
    expect(await rowsOf(id)).toHaveLength(1);
    await wrong.close();
    clock.mockRestore();
  });

  it('do not come to life again when a refresh or a sign-in is stored after the end of the session', async () => {
    const { browser, email, id } = await aSignedInBrowser();
    await readEvents();
    /** Ends all sessions at identity between its response and the statement that stores it. */
    const endBefore = (method: 'storeRefresh' | 'insert') => {
      const statement = WebSessionRepository.prototype[method];
      const spy = jest.spyOn(WebSessionRepository.prototype, method).mockImplementation(async function late(
        this: typeof WebSessionRepository.prototype,
        ...given: unknown[]
      ) {
        spy.mockRestore();
        await identity.endSessions(id);
        await readEvents();
        return Reflect.apply(statement, this, given);
      });
    };
    endBefore('storeRefresh');
    await moveClock(id, 20);
    expectProblem(await browser.get(me), 401, 'session_ended');
    endBefore('insert');
    await browser.signIn(email, password);
    expectProblem(await browser.get(me), 401, 'session_ended');
    await browser.signIn(email, password).expect(200);
    await browser.get(me).expect(200);
  });

  it('end if the response of a refresh was lost: identity accepts a refresh token once', async () => {
    const { browser, id } = await aSignedInBrowser();
    const [before] = await rowsOf(id);
    await moveClock(id, 20);
    await browser.get(me).expect(200);
    await app.sql(
      `UPDATE web_sessions SET access_token = $2, refresh_token = $3, access_expires_at = now(), refresh_at = now()
        WHERE identity_id = $1`,
      [id, before?.access_token, before?.refresh_token],
    );
    expectProblem(await browser.get(me), 401, 'session_ended');
  });

  it('are revoked by the cleanup job if identity was down at the sign-out', async () => {
    const { browser, id } = await aSignedInBrowser();
    const signedIn = browser.on(app);
    const { service } = app.dependencies.webSessions ?? {};
    const { revoked_web_sessions: revoke } = cleanupTasks(new CleanupRepository(app.database), {
      eventRetentionDays: 7,
      webSessions: service,
    });
    await identity.down();
    await browser.send('delete', '/app/session').expect(204);
    expectProblem(await signedIn.get(me), 401, 'session_ended');
    await moveClock(id, 1);
    expect([await revoke(10), await rowsOf(id)]).toEqual([
      0,
      [expect.objectContaining({ revoke_pending: true })],
    ]);
    await identity.up();
    await moveClock(id, 2);
    expect(await revoke(10)).toBeGreaterThan(0);
    expect(await rowsOf(id)).toEqual([]);
  });

  it('are sealed, and opened by every key of the list', async () => {
    const { browser, id } = await aSignedInBrowser();
    const [row] = await rowsOf(id);
    expect(row?.access_token.toString('latin1')).not.toContain('eyJ');
    expect(row?.id_hash.toString('base64url')).not.toBe(browser.sessionId);
    const rotated = await startTestApp({ ...webApp, SESSION_KEYS: `${keys[1]},${keys[0]}` }, app);
    await browser.on(rotated).get(me).expect(200);
    await moveClock(id, 20);
    await browser.on(rotated).get(me).expect(200);
    const newOnly = await startTestApp({ ...webApp, SESSION_KEYS: keys[1] }, app);
    await browser.on(newOnly).get(me).expect(200);
    const refused = await browser.get(me);
    expectProblem(refused, 401, 'session_ended');
    await browser.on(newOnly).get(me).expect(200);
    await rotated.close();
    await newOnly.close();
  });

  it('and passwords and cookies are never logged', async () => {
    const { browser, id } = await aSignedInBrowser();
    await moveClock(id, 20);
    await browser.get(me).expect(200);
    await browser.send('delete', '/app/session').expect(204);
    const log = app.log.join('');
    expect(log).toContain('/app/session');
    expect(log).not.toMatch(/eyJ[A-Za-z0-9_-]{8,}\./);
    expect(log).not.toContain(password);
    expect(log).not.toMatch(/tessera=[A-Za-z0-9_-]/);
    for (const key of keys) expect(log).not.toContain(key);
  });
});
