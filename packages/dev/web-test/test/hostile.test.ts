import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { pagePolicy } from '@tessera/delivery/web-app';
import { eventually } from '@tessera/stack/eventually';
import { type FakeTracker, startGitLab } from '@tessera/trackers/fakes';
import { hostileLines, hostileMarkdown } from '../src/hostile-texts.ts';
import { startOtherOrigin } from '../src/other-origin.ts';
import { type Receiver, startReceiver } from '../src/receiver.ts';
import {
  gitLabVariables,
  type Page,
  type Person,
  signIn,
  signInByForm,
  startWeb,
  type WatchedPage,
  type Web,
} from '../src/web.ts';

const project = 'acme/website';
const line = '<img src=x onerror=ran()><script>ran()</script>';

let web: Web;
let tracker: FakeTracker;
let receiver: Receiver;
let others: Awaited<ReturnType<typeof startOtherOrigin>>;
let mallory: Person;
let key: string;
let texts: Record<string, string>;
let opened: WatchedPage;
let page: Page;
const ran: unknown[] = [];
const foreign: string[] = [];

beforeAll(async () => {
  tracker = await startGitLab({ project });
  others = await startOtherOrigin();
  receiver = await startReceiver(hostileLines.join('\n'));
  web = await startWeb({
    issues: {
      ...gitLabVariables(tracker, project),
      WEBHOOK_ALLOW_HTTP: 'on',
      WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
    },
  });
  mallory = await web.createPerson('mallory', line, true);
  opened = await web.open({ userAgent: `Mozilla/5.0 ${line}` });
  page = opened.page;
  await page.exposeFunction('ran', (by: unknown) => ran.push(by));
  page.on('request', (request) => {
    if (!request.url().startsWith(web.url)) foreign.push(request.url());
  });
  await signIn(page, mallory);
  // All attributes of this browser that run a script.
  const handlers = (await page.evaluate(
    `[...new Set([window, document, Element.prototype, HTMLElement.prototype, SVGElement.prototype, HTMLMediaElement.prototype,
       HTMLBodyElement.prototype].flatMap((object) => Object.getOwnPropertyNames(object)).filter((name) => name.startsWith('on')))]`,
  )) as string[];
  expect(handlers.length).toBeGreaterThan(90);
  texts = hostileMarkdown(handlers);
  key = await createHostileIssue();
  await createHostileSettings();
});

afterAll(async () => {
  const codes = await web?.stop();
  await tracker?.close();
  receiver?.close();
  others?.stop();
  expect(codes).toEqual([0, 0]);
});

/** Creates an issue with hostile texts of people and of the tracker. Returns its key. */
async function createHostileIssue(): Promise<string> {
  const { api } = mallory;
  const label = await api.createLabel({ name: line, color: '#ff0000' });
  const description = texts.mutations ?? '';
  const issue = await api.create({ title: line, description, labels: [label], priority: 'URGENT' });
  for (const [index, title] of hostileLines.entries()) {
    if (index % 8 === 0) await api.create({ title });
    if (index % 12 === 0) await api.createLabel({ name: title.slice(0, 50), color: '#00ff00' });
  }
  const link = {
    type: 'invoice',
    ref: line,
    title: line,
    url: 'https://evil.example/"onclick="ran()',
  } as const;
  await api.putLink(issue.key, link);
  for (const text of Object.values(texts)) await api.addComment(issue.key, text);
  await api.update(issue.key, { title: `${line}!` });
  await api.changeStatus(issue.key, { status: 'IN_PROGRESS', comment: texts.scripts ?? '' });
  await api.sync(issue.key);
  const [remote] = tracker.issues();
  const number = remote?.number ?? 0;
  // Both sides have changed the title and the description, so that the sync panel shows a conflict with these texts.
  tracker.addComment(number, texts.elements ?? '', line);
  tracker.editIssue(number, { title: `${line}?`, body: `${texts.scripts}` });
  await api.update(issue.key, { title: `${line}!!`, description: `${description}\n\nx` });
  await api.sync(issue.key);
  tracker.fail({ kind: 'status', status: 422, body: { message: [line, texts.names] } });
  tracker.addComment(number, texts.names ?? '', line);
  await api.sync(issue.key).catch(() => undefined);
  // The service refuses such an address of a tracker, so this writes it to the database.
  await web.sql('issues', "UPDATE tracker_links SET remote_url = 'javascript:ran()', moved_to = $1", [line]);
  return issue.key;
}

/** Creates users and a webhook with hostile texts, and a delivery that the receiver answers with some. */
async function createHostileSettings(): Promise<void> {
  for (const [index, name] of hostileLines.entries()) {
    if (index % 12 !== 0) continue;
    const username = `${index} ${name}`.slice(0, 150);
    const { status } = await web.stack.internal.post('/internal/identities', {
      ...{ username, display_name: username, email: `${index}'/onerror='ran'@example.com` },
      ...{ sso_provider: 'hostile', sso_id: String(index), is_verified: true },
    });
    expect([index, status]).toEqual([index, 201]);
  }
  // A 204 has no body. Background syncs of the hostile issue can add deliveries.
  receiver.statuses.push(...Array(20).fill(200));
  const { id } = await mallory.api.createWebhook({
    url: `${receiver.url}/"onclick="ran()?<script>ran()</script>='<img/src=x/onerror=ran()>`,
    description: line,
  });
  const sent = await mallory.api.create({ title: `Sent ${line}` });
  await receiver.receive(sent.key);
  await mallory.api.updateWebhook(id, { enabled: false });
  const url = `https://evil.example/${encodeURI('"onmouseover="ran()<script>ran()</script>')}`;
  await mallory.api.createWebhook({ url, description: line, enabled: false });
}

/** Elements and attributes that no page of the app has. */
const findCreated = () =>
  page.evaluate(
    `[...document.querySelectorAll('*')].flatMap((element) => [
       ...(/^(?:iframe|frame|object|embed|base|meta|math|style|template|video|audio|image|use|animate|set)$/i.test(element.localName) &&
           element.closest('head') === null ? [element.outerHTML] : []),
       ...(element.localName === 'script' && new URL(element.src).origin !== location.origin ? [element.outerHTML] : []),
       ...[...element.attributes]
         .filter(({ name, value }) => /^on|^srcdoc$|^ping$|^formaction$|^(?:src|poster|background)$/i.test(name)
           ? new URL(value, location.href).origin !== location.origin || /^on|srcdoc|ping|formaction/i.test(name)
           : /^(?:xlink:)?href$|^action$/i.test(name) && !/^(?:https?|mailto):$/.test(new URL(value, location.href).protocol))
         .map(({ name, value }) => element.localName + ' ' + name + '=' + value),
     ])`,
  );

async function expectHarmless(): Promise<void> {
  const created = await findCreated();
  const { problems } = opened;
  expect({ at: page.url(), ran, foreign, problems, created }).toEqual({
    at: page.url(),
    ran: [],
    foreign: [],
    problems: [],
    created: [],
  });
}

describe('hostile texts', () => {
  it('run scripts on a page without protection', async () => {
    const unprotected = await web.open();
    let count = 0;
    const enough = new Promise<void>((resolve) => {
      void unprotected.page.exposeFunction('ran', () => {
        count += 1;
        if (count === 30) resolve();
      });
    });
    await unprotected.page.goto(others.onAnotherPort);
    // Those with names replace functions of the document, and those with requests leave the page.
    const { names: _names, requests: _requests, ...rest } = texts;
    for (const text of Object.values(rest))
      await unprotected.page.evaluate(
        `document.body.append(document.createElement('div')); document.body.lastChild.innerHTML = ${JSON.stringify(text)}`,
      );
    await enough;
    await unprotected.close();
  });

  it('are texts in the list', async () => {
    await page.goto('/issues');
    await page.getByText(`${line}!!`).waitFor();
    await expectHarmless();
    await page.goto(
      `/issues?q=${encodeURIComponent(line)}&order=${encodeURIComponent(line)}&label=${encodeURIComponent(line)}`,
    );
    await page.getByLabel('Search issues').waitFor();
    await expectHarmless();
  });

  it('are texts on the page of an issue, and links have no scripts', async () => {
    await page.goto(`/issues/${key}`);
    await page.getByRole('heading', { level: 1, name: `${line}!!` }).waitFor();
    await page.locator('.description .markdown p').first().waitFor();
    await page.locator('.comment').nth(12).waitFor();
    await page.getByText('<plaintext>').first().waitFor();
    // The sync panel shows the texts of the tracker.
    await page.getByRole('region', { name: 'Conflict of the title' }).getByText(`${line}?`).waitFor();
    expect(await page.locator('.comment .markdown').first().textContent()).toContain(
      '<script>ran()</script>',
    );
    await expectHarmless();
    const targets = (await page.evaluate(
      `[...document.querySelectorAll('.markdown a')].map((link) => link.getAttribute('href') ?? '')`,
    )) as string[];
    const schemes = new Set(targets.map((target) => /^[^/:]*:/.exec(target)?.[0] ?? 'none'));
    expect([...schemes].sort()).toEqual(['http:', 'https:', 'none']);
    expect(targets.length).toBeGreaterThan(50);
    // A click on any of them runs nothing.
    await page.evaluate(
      `addEventListener('click', (event) => event.preventDefault());
       for (const link of document.querySelectorAll('.markdown a, .markdown *')) {
         link.click();
         for (const type of ['mouseover', 'focus', 'pointerdown', 'keydown']) link.dispatchEvent(new Event(type, { bubbles: true }));
       }`,
    );
    await expectHarmless();
  });

  it('are texts in the panel of the tracker', async () => {
    await page.goto(`/issues/${key}`);
    const panel = page.locator('.sync-panel');
    // The values of both sides, a message of the tracker, and a location.
    for (const text of [
      `${line}!!`,
      `${line}?`,
      `0 ${line}`,
      `The issue was moved in the tracker to ${line}.`,
    ])
      await panel.getByText(text, { exact: true }).first().waitFor();
    expect(await panel.getByRole('link').count()).toBe(0);
    await expectHarmless();
  });

  it.each(['Account', 'Sessions', 'Users', 'Webhooks', 'Tracker'])(
    'are texts in the settings: %s',
    async (section) => {
      await page.goto(`/settings/${section.toLowerCase()}`);
      const text =
        { Account: 'mallory@example.com', Sessions: line.slice(0, 40), Tracker: project }[section] ?? line;
      await page.locator('.settings-content').getByText(text).first().waitFor();
      if (section === 'Users') {
        await page.getByRole('button', { name: /^Edit 0 / }).click();
        await page.getByRole('dialog').getByLabel('Display name').waitFor();
      }
      if (section === 'Webhooks') {
        const webhook = page.getByRole('listitem').filter({ hasText: receiver.url });
        await webhook.getByText('Deliveries', { exact: true }).click();
        await webhook.locator('.deliveries li summary', { hasText: 'Delivered' }).first().click();
        await page.locator('.delivery ol').getByText('</title><script>ran()</script>').waitFor();
        await expectHarmless();
        await webhook.getByRole('button', { name: /^Delete/ }).click();
        await page.getByRole('dialog').getByText('ran()').waitFor();
      }
      await expectHarmless();
    },
  );

  it('are texts on the board and in the commands', async () => {
    await page.goto('/board');
    await page.getByRole('link', { name: `${line}!!` }).waitFor();
    await expectHarmless();
    await page.keyboard.press('Control+k');
    await page.getByRole('dialog').getByRole('combobox').fill('<script>ran()</script>');
    await page.getByRole('option', { name: new RegExp(`^${key}\\b`) }).waitFor();
    await expectHarmless();
  });

  it('are texts in previews and drafts', async () => {
    await page.goto(`/issues/${key}`);
    await page.getByRole('button', { name: 'Edit description' }).click();
    await page
      .getByRole('textbox', { name: 'Description' })
      .fill(Object.values(texts).join('\n\n').slice(0, 60_000));
    await page.getByRole('button', { name: 'Preview' }).first().click();
    await page.locator('.editor .markdown p').first().waitFor();
    await expectHarmless();
  });

  it('are no targets of the sign-in', async () => {
    for (const next of ['javascript:ran()', '//evil.example/', '/\\evil.example', 'data:text/html,x', line]) {
      const visitor = await web.open();
      await signInByForm(visitor.page, mallory, `/sign-in?next=${encodeURIComponent(next)}`);
      expect([next, new URL(visitor.page.url()).origin, visitor.problems]).toEqual([next, web.url, []]);
      await visitor.close();
    }
  });
});

it('texts of the history cost a reader nothing until they are opened, and then some hundred lines at a time', async () => {
  const { api } = mallory;
  const long = await api.create({ title: 'Long texts', description: 'x' });
  for (const line of ['a', 'b', 'c']) await api.update(long.key, { description: `${line}\n`.repeat(32_000) });
  await api.update(long.key, { description: 'The end' });
  await page.goto(`/issues/${long.key}`);
  const count = () => page.evaluate<number>('document.querySelectorAll("*").length');
  const texts = page.getByText('Show the texts').last();
  await texts.waitFor();
  const closed = await count();
  expect(closed).toBeLessThan(5_000);
  await texts.click();
  const more = page.getByRole('button', { name: /^Show 300 of \d+,\d+ more lines$/ });
  const rest = async () => Number((await more.textContent())?.replace(',', '').match(/of (\d+)/)?.[1]);
  const before = await rest();
  expect(before).toBeGreaterThan(30_000);
  await more.click();
  await eventually(rest, (now) => now === before - 300);
  expect((await count()) - closed).toBeLessThan(5_000);
});

it('a text that is too complex is shown as it was written, in parts', async () => {
  const { api } = mallory;
  const letters = '\u0628'.repeat(65_000);
  const issue = await api.create({ title: 'Complex texts', description: '> '.repeat(30_000) });
  await api.addComment(issue.key, letters);
  await api.addComment(issue.key, '*An ordinary text*');
  await page.goto(`/issues/${issue.key}`);
  await page.locator('.comment em', { hasText: 'An ordinary text' }).waitFor();
  const comment = page.locator('.comment').first();
  await comment.getByText('too complex to format').waitFor();
  expect(await page.locator('.description .as-written').count()).toBe(1);
  const shown = async () => (await comment.locator('.as-written').allTextContents()).join('');
  expect((await shown()).length).toBe(4_000);
  await comment.getByRole('button', { name: 'Show more (61,000 characters)' }).click();
  expect(await shown()).toBe(letters.slice(0, 8_000));
  await expectHarmless();
});

it('every page has the policy that it has in compose and Kubernetes', async () => {
  for (const path of [
    '/',
    '/issues',
    '/board',
    '/settings',
    '/settings/users',
    `/issues/${key}`,
    '/sign-in',
  ]) {
    const response = await fetch(`${web.url}${path}`, { headers: { Accept: 'text/html' } });
    expect([path, response.headers.get('Content-Security-Policy')]).toEqual([path, pagePolicy]);
  }
});
