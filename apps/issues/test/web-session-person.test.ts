import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { issuesPaths, webSessionPaths } from '@tessera/contracts/requests';
import { expectProblem } from '@tessera/testing/problems';
import { Browser } from './support/browser.ts';
import { IdentityService } from './support/identity-service.ts';
import { anEmail, password } from './support/people.ts';
import { startTestApp, type TestApp } from './support/test-app.ts';
import './support/response-guard.ts';

// Trackers send no cookie, and the other operations outside of /api/v1 are not those of the app.
const api = Object.entries(issuesPaths).filter(
  ([id, line]) => line.includes(' /api/v1/') && id !== 'takeWebhook',
);
// Asks who the page is, signs in, or is the address of an image, whose request has no header of the page.
const open = ['getSession', 'startSession', 'getAttachmentContent'];
const operations = [
  ...api.map(([id, line]) => [id, line.replace(' ', ' /app')] as const),
  ...Object.entries(webSessionPaths),
].filter(([id]) => !open.includes(id));

let identity: IdentityService;
let app: TestApp;
/** The page of Alice, in a browser to which Bob has signed in since. */
let page: Browser;
let bob: Browser;
let issue: { id: string; key: string };

beforeAll(async () => {
  identity = await IdentityService.start();
  app = await startTestApp(
    { WEB_APP: 'on', RATE_LIMIT_READS_PER_MINUTE: '0', RATE_LIMIT_WRITES_PER_MINUTE: '0' },
    { identity },
  );
  const people = await Promise.all(
    ['alice', 'bob'].map((username) =>
      identity.create({ email: anEmail(), password, username, is_staff: true, is_superuser: true }),
    ),
  );
  page = new Browser(app.http);
  await page.signIn(people[0]?.email ?? '', password).expect(200);
  issue = (await page.send('post', '/app/api/v1/issues/', { title: 'Of Alice' }).expect(201)).body;
  bob = new Browser(app.http);
  await bob.signIn(people[1]?.email ?? '', password).expect(200);
  page.cookie = bob.cookie;
});
afterAll(async () => {
  await app.close();
  await identity.stop();
});

type Method = Parameters<Browser['send']>[0];
const send = (browser: Browser, line: string, body?: object) => {
  const [method = '', path = ''] = line.split(' ');
  const url = path.replace('/issues/:id/', `/issues/${issue.key}/`).replace(/:\w+/g, randomUUID());
  return browser.send(method.toLowerCase() as Method, url, body);
};
const rows = async () =>
  (
    await app.sql(`SELECT (SELECT jsonb_agg(to_jsonb(i) ORDER BY id) FROM issues i) AS issues,
      (SELECT count(*)::int FROM comments) AS comments, (SELECT count(*)::int FROM events) AS events,
      (SELECT count(*)::int FROM web_sessions WHERE NOT revoke_pending) AS sessions`)
  )[0];

describe('a page whose browser has the session of another person', () => {
  it.each(operations)('is refused %s', async (_id, line) => {
    const before = await rows();
    const isRead = line.startsWith('GET') || line.startsWith('OPTIONS');
    const bodies = isRead
      ? [undefined]
      : [undefined, { title: 'Of Bob?', body: 'Of Bob?', status: 'IN_PROGRESS' }];
    const nameless = bob.on(app);
    nameless.user = undefined;
    for (const browser of [page, nameless])
      for (const body of bodies) expectProblem(await send(browser, line, body), 409, 'other_user');
    expect(await rows()).toEqual(before);
  });

  it('is refused what no operation has, and a stream of events', async () => {
    expectProblem(await page.get('/app/api/v1/nothing'), 409, 'other_user');
    const stream = '/app/api/v1/events/stream/';
    for (const query of [
      '',
      `?user=${page.user}`,
      `?after=now&user=${page.user}`,
      '?user=',
      '?user=a&user=b',
    ]) {
      const browser = bob.on(app);
      browser.user = undefined;
      expectProblem(await browser.get(`${stream}${query}`), 409, 'other_user');
    }
  });

  it('shows an image that the session may read', async () => {
    const content = `/app/api/v1/attachments/${randomUUID()}/content/`;
    expectProblem(await page.get(content), 404, 'attachment_not_found');
    const png = Buffer.from('89504e470d0a1a0a', 'hex');
    const name = '/app/api/v1/attachments/?name=shot.png';
    const file = await bob.send('post', name, png).set('Content-Type', 'application/octet-stream');
    expect(file.status).toBe(201);
    expect((await page.get(`/app/api/v1/attachments/${file.body.id}/content/`)).status).toBe(200);
  });

  it('is told so when it asks for its session, and learns the person only if it has none', async () => {
    expectProblem(await page.get('/app/session'), 409, 'other_user');
    const newPage = bob.on(app);
    newPage.user = undefined;
    expect((await newPage.get('/app/session').expect(200)).body.user.id).toBe(bob.user);
  });

  it('keeps the session of the other person, who is served', async () => {
    const { body } = await bob.get('/app/api/v1/users/me/').expect(200);
    expect(body.id).toBe(bob.user);
    const nameless = bob.on(app);
    nameless.user = undefined;
    const head = nameless.send('head', `/app/api/v1/events/stream/?user=${bob.user}&after=now`);
    expect((await head).status).toBe(200);
    const title = { title: 'Of Bob' };
    expect((await bob.send('post', '/app/api/v1/issues/', title).expect(201)).body.reporter.id).toBe(
      bob.user,
    );
    // A session that has ended is a reason of its own.
    const ended = bob.on(app);
    await bob.send('delete', '/app/session').expect(204);
    expectProblem(await ended.get('/app/api/v1/users/me/'), 401, 'session_ended');
  });
});
