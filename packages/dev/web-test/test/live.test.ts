import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import { type Page, type Person, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let bob: Person;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  bob = await web.createPerson('bob', 'Bob Kaplan', true);
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  expect(web.problems(/409|ERR_INTERNET_DISCONNECTED|ERR_FAILED/)).toEqual([]);
});

/** The reads of the feed from a position, by pages whose requests are not prepared. */
const polls: string[] = [];
const isPoll = (url: URL) => url.pathname.endsWith('/events/') && url.searchParams.get('after') !== 'now';

/** Opens a page of Ada and, unless its requests are prepared, waits for its stream. */
async function open(path: string, prepare?: (page: Page) => Promise<unknown>): Promise<Page> {
  let stream: Promise<unknown> = Promise.resolve();
  const page = await web.openAs(ada, path, async (one) => {
    if (prepare === undefined) {
      stream = one.waitForResponse(isStream);
      one.on('request', (request) => isPoll(new URL(request.url())) && polls.push(request.url()));
    }
    await prepare?.(one);
  });
  await stream;
  return page;
}

const isStream = (one: { url: () => string }) => one.url().includes('/events/stream/');
const streams = '**/events/stream/**';
const close = (page: Page) => page.context().close();

/** Waits in the page for twice the time for which it gathers events. */
const twiceGathered = 'new Promise((resolve) => setTimeout(resolve, 300))';

describe('changes of another person', () => {
  afterEach(() => {
    // The stream was the only cause.
    expect(polls).toEqual([]);
  });

  it('appear on the page of the issue at once', async () => {
    const { key } = await ada.api.create({ title: 'Changed elsewhere' });
    const page = await open(`/issues/${key}`);
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    const from = performance.now();
    await bob.api.update(key, { priority: 'URGENT' });
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor();
    process.stdout.write(`Shown after ${Math.round(performance.now() - from)} ms\n`);
    await bob.api.changeStatus(key, { status: 'IN_PROGRESS' });
    await page.getByRole('button', { name: 'Status: In progress' }).waitFor();
    await bob.api.addComment(key, 'Written elsewhere');
    await page.locator('.comment', { hasText: 'Written elsewhere' }).waitFor();
    await close(page);
  });

  it('appear if they are made between the first read of the issue and the first read of the events', async () => {
    const { key } = await ada.api.create({ title: 'Changed early' });
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    const page = await open(`/issues/${key}`, (one) =>
      one.route('**/app/api/v1/events/**', (route) => released.then(() => route.continue())),
    );
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    await bob.api.update(key, { priority: 'URGENT' });
    release();
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor();
    await close(page);
  });

  it('change rows where they are; new issues wait until the user asks for them', async () => {
    const { key } = await ada.api.create({ title: 'A row' });
    await ada.api.create({ title: 'A later row' });
    const page = await open('/issues');
    const titles = () => page.locator('.title-link').allTextContents();
    await page.getByRole('link', { name: 'A later row' }).waitFor();
    const before = await titles();
    await bob.api.update(key, { title: 'A renamed row' });
    await bob.api.changeStatus(key, { status: 'IN_PROGRESS' });
    await page.getByRole('row', { name: 'A renamed row' }).getByText('In progress').waitFor();
    await bob.api.changeStatus(key, { status: 'RESOLVED' });
    await page.getByRole('row', { name: 'A renamed row' }).getByText('Resolved').waitFor();
    await bob.api.create({ title: 'One more' });
    await bob.api.create({ title: 'Two more' });
    const button = page.getByRole('button', { name: 'Show 2 new' });
    await button.waitFor();
    expect(await titles()).toEqual(before.map((title) => (title === 'A row' ? 'A renamed row' : title)));
    await button.click();
    await page.getByRole('link', { name: 'Two more' }).waitFor();
    await page.getByRole('link', { name: 'A renamed row' }).waitFor({ state: 'detached' });
    expect((await titles()).slice(0, 2)).toEqual(['Two more', 'One more']);
    await button.waitFor({ state: 'detached' });
    await close(page);
  });

  it('are read together if they follow each other closely', async () => {
    const { key } = await ada.api.create({ title: 'Changed often' });
    const page = await open('/issues?q=Changed+often');
    await page.getByRole('link', { name: 'Changed often' }).waitFor();
    const reads: string[] = [];
    page.on('request', (one) => one.url().includes(`/issues/?`) && reads.push(one.url()));
    const from = performance.now();
    for (const priority of ['LOW', 'HIGH', 'URGENT'] as const) {
      await bob.api.update(key, { priority });
      await page.evaluate(twiceGathered);
    }
    await page.getByRole('row', { name: 'Changed often' }).getByText('Urgent').waitFor();
    // A read has two requests: the matching issues, and those that are shown.
    const pauses = Math.ceil((performance.now() - from) / 2_000);
    expect(reads.length).toBeLessThanOrEqual(2 * (1 + pauses));
    await close(page);
  });

  it('are read by a page in the background when it is shown', async () => {
    const { key } = await ada.api.create({ title: 'In the background' });
    const page = await open(`/issues/${key}`);
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    const hide = (isHidden: boolean) =>
      page.evaluate(`Object.defineProperty(document, 'hidden', { configurable: true, value: ${isHidden} });
        document.dispatchEvent(new Event('visibilitychange'))`);
    await hide(true);
    const seen = page.waitForEvent('console', (message) => message.text() === 'event');
    await page.evaluate(`new BroadcastChannel('tessera-events-${ada.id}').onmessage = ({ data }) => {
      if (data.kind === 'events' && data.events.length > 0) console.log('event');
    }`);
    const reads: string[] = [];
    page.on('request', (one) => one.url().endsWith(`/issues/${key}/`) && reads.push(one.url()));
    await bob.api.update(key, { priority: 'URGENT' });
    await seen;
    await page.evaluate(twiceGathered);
    expect(reads).toEqual([]);
    await hide(false);
    await page.getByRole('button', { name: 'Priority: Urgent' }).waitFor();
    await close(page);
  });

  it('do not count as new if they do not match the filters', async () => {
    const page = await open('/issues?priority=CRITICAL');
    await page.getByText('No issue matches').waitFor();
    await bob.api.create({ title: 'Not critical', priority: 'LOW' });
    await bob.api.create({ title: 'A critical one', priority: 'CRITICAL' });
    await page.getByRole('button', { name: 'Show 1 new' }).click();
    await page.getByRole('link', { name: 'A critical one' }).waitFor();
    await close(page);
  });

  it.each([
    ['is open', undefined],
    ['has a typed text', 'Typed by Ada'],
  ])('do not replace a field whose editor %s', async (_state, typed) => {
    const { key } = await ada.api.create({ title: 'Edited by two' });
    const page = await open(`/issues/${key}`);
    await page.getByRole('button', { name: 'Edit title' }).click();
    const field = page.getByLabel('Title');
    if (typed !== undefined) await field.fill(typed);
    await bob.api.update(key, { title: 'Changed by Bob' });
    await page.getByText('It was changed meanwhile.').waitFor();
    expect(await field.inputValue()).toBe(typed ?? 'Edited by two');
    await field.fill('Saved by Ada');
    await field.press('Enter');
    const panel = page.getByRole('region', { name: 'Another person has changed the title' });
    await panel.waitFor();
    expect(await panel.locator('pre').allTextContents()).toEqual([
      'Edited by two',
      'Changed by Bob',
      'Saved by Ada',
    ]);
    await panel.getByRole('button', { name: 'Take theirs' }).click();
    await page.getByRole('heading', { level: 1, name: 'Changed by Bob' }).waitFor();
    await close(page);
  });

  it('arrive through one stream for all tabs of a browser, also after its tab was closed', async () => {
    const { key } = await ada.api.create({ title: 'In two tabs' });
    const first = await open(`/issues/${key}`);
    const requests: string[] = [];
    const tab = await first.context().newPage();
    tab.on('request', (request) => isStream(request) && requests.push(request.url()));
    await tab.goto(`/issues/${key}`);
    await tab.getByRole('heading', { level: 1, name: 'In two tabs' }).waitFor();
    await bob.api.update(key, { title: 'Shown in two tabs' });
    for (const page of [first, tab]) await page.getByRole('heading', { name: 'Shown in two tabs' }).waitFor();
    expect(requests).toEqual([]);
    const taken = tab.waitForRequest(isStream);
    await first.close();
    // Made while no tab has a stream.
    await bob.api.update(key, { title: 'Shown in the last tab' });
    expect((await taken).url()).toContain('&after=');
    await tab.getByRole('heading', { name: 'Shown in the last tab' }).waitFor();
    await close(tab);
  });
});

describe('without a stream', () => {
  it('changes appear, because the page reads the feed every nine seconds', async () => {
    const { key } = await ada.api.create({ title: 'Polled' });
    const page = await open(`/issues/${key}`, (one) => one.route(streams, (route) => route.abort()));
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    await bob.api.update(key, { priority: 'HIGH' });
    await page.getByRole('button', { name: 'Priority: High' }).waitFor();
    await close(page);
  });

  it('a stream that is silent for a minute is replaced, and the feed is read meanwhile', async () => {
    const { key } = await ada.api.create({ title: 'Silent' });
    const page = await open(`/issues/${key}`, (one) => one.clock.install());
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    await bob.api.update(key, { priority: 'LOW' });
    await page.getByRole('button', { name: 'Priority: Low' }).waitFor();
    // The next stream gets no response.
    const next = page.waitForRequest(isStream);
    await page.route(streams, () => undefined);
    await page.clock.fastForward(60_000);
    await next;
    await bob.api.update(key, { priority: 'HIGH' });
    // The page reads the feed once, because its clock moves once.
    await untilDeliverable({
      sql: async (text: string, values: unknown[] = []) => (await web.sql('issues', text, values)).rows,
    });
    await page.clock.fastForward(10_000);
    await page.getByRole('button', { name: 'Priority: High' }).waitFor();
    await close(page);
  });

  it('a page says that it is offline, and catches up when the connection is back', async () => {
    const { key } = await ada.api.create({ title: 'On a train' });
    const page = await open(`/issues/${key}`);
    await page.getByRole('button', { name: 'Priority: Medium' }).waitFor();
    await page.context().setOffline(true);
    await page.getByText('No connection since').waitFor();
    await bob.api.update(key, { priority: 'CRITICAL' });
    await page.getByLabel('Comment').fill('Typed in a tunnel');
    await page.context().setOffline(false);
    await page.getByRole('button', { name: 'Priority: Critical' }).waitFor();
    await page.getByText('No connection since').waitFor({ state: 'detached' });
    expect(await page.getByLabel('Comment').inputValue()).toBe('Typed in a tunnel');
    await close(page);
  });
});
