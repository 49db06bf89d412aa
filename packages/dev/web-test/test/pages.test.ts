import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { gzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fillExamples } from '../src/examples.ts';
import { pageProblems } from '../src/page-problems.ts';
import { type Person, signIn, signInByForm, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let key: string;

beforeAll(async () => {
  web = await startWeb();
  ({ ada, key } = await fillExamples(web, 8));
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
});

describe('accessibility in both themes', () => {
  it.each([1280, 320])(
    'all pages, %i pixels wide',
    async (width) => {
      const { page, close } = await web.open({
        bypassCSP: true,
        viewport: { width, height: 800 },
      });
      const check = async (state: string) =>
        expect({ state, problems: await pageProblems(page) }).toEqual({ state, problems: [] });
      await page.goto('/sign-in');
      await page.getByLabel('E-mail').waitFor();
      await check('sign-in');
      await signInByForm(page, ada);
      await page.getByRole('row', { name: key }).waitFor();
      await check('list');
      await page.getByRole('button', { name: 'Assignee' }).click();
      await page.getByRole('option', { name: 'Bob Kaplan' }).waitFor();
      await check('filter');
      await page.keyboard.press('Escape');
      await page.getByLabel(`Select ${key}`).check();
      await check('selection');
      await page.getByLabel('Search issues').fill('nothing has this word');
      await page.getByText('No issue matches these filters.').waitFor();
      await check('empty list');
      await page.goto(`/issues/${key}`);
      await page.locator('.markdown ul').waitFor();
      await page.locator('.comment').nth(1).waitFor();
      await check('issue');
      await page.getByRole('button', { name: 'Edit title' }).click();
      await page.getByRole('button', { name: 'Edit description' }).click();
      await page.getByRole('button', { name: 'Save description' }).waitFor();
      await check('editing');
      await page.getByLabel(/^Account of/).click();
      await check('menu');
      await page.getByRole('button', { name: 'New issue' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByLabel('Title').fill('Draft');
      const widthOf = async (field: string) => (await dialog.locator(field).boundingBox())?.width;
      expect(await widthOf('.editor')).toBe(await widthOf('.title-input'));
      await check('new issue');
      await page.getByRole('button', { name: 'Discard' }).last().click();
      await page.locator('body').press('?');
      await check('keyboard');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('Find a command or an issue').fill('invoices');
      await page.getByRole('option', { name: key }).waitFor();
      await check('commands');
      await page.goto('/board');
      await page.getByRole('link', { name: 'Invoices are printed' }).waitFor();
      await check('board');
      await page.keyboard.press('j');
      await page.keyboard.press('x');
      await page.getByText('1 selected').waitFor();
      await check('board selection');
      await page.keyboard.press('Escape');
      await page.getByRole('button', { name: `Move ${key} to…` }).click();
      await page.getByRole('option', { name: 'Resolved' }).waitFor();
      await check('move');
      await close();
    },
    300_000,
  );
});

describe('the budget', () => {
  const folder = fileURLToPath(new URL('../../../../apps/issues/dist/web/', import.meta.url));
  const page = readFileSync(`${folder}index.html`, 'utf8');
  const names = readdirSync(`${folder}assets`).filter((name) => /\.(?:js|css)$/.test(name));
  // Without the files of earlier builds, which remain if the build comes from turbo's cache.
  const used = new Set<string>();
  const visit = (text: string) => {
    for (const name of names.filter((one) => !used.has(one) && text.includes(one))) {
      used.add(name);
      visit(readFileSync(`${folder}assets/${name}`, 'utf8'));
    }
  };
  visit(page);
  const sizes = [...used].map((name) => ({
    isInitial: page.includes(name),
    bytes: gzipSync(readFileSync(`${folder}assets/${name}`)).length,
  }));

  it('limits the first load to 150 kB and a later chunk to 60 kB', () => {
    const initial = sizes.filter(({ isInitial }) => isInitial).reduce((sum, { bytes }) => sum + bytes, 0);
    const largest = Math.max(...sizes.filter(({ isInitial }) => !isInitial).map(({ bytes }) => bytes));
    expect(initial).toBeGreaterThan(10_000);
    expect(largest).toBeGreaterThan(10_000);
    expect(initial).toBeLessThanOrEqual(150_000);
    expect(largest).toBeLessThanOrEqual(60_000);
  });
});

describe('the documents', () => {
  const get = (path: string, headers: Record<string, string> = {}) =>
    fetch(`${web.url}${path}`, { headers: { Accept: 'text/html', ...headers } });

  it('are pages for browsers only', async () => {
    for (const path of ['/', '/issues', '/issues/ISS-1', '/sign-in']) {
      const response = await get(path);
      expect([path, response.status, response.headers.get('Content-Type')]).toEqual([
        path,
        200,
        'text/html; charset=utf-8',
      ]);
      expect(response.headers.get('Cache-Control')).toBe('no-store');
      expect(response.headers.get('Content-Security-Policy')).toContain("require-trusted-types-for 'script'");
      const json = await get(path, { Accept: 'application/json' });
      expect([path, json.status]).toEqual([path, path === '/' ? 200 : 404]);
    }
    for (const path of ['/no-such-page', '/issues/ISS-1/no-such-page']) {
      for (const [accept, type] of [
        ['text/html', /html/],
        ['application/json', /json/],
      ] as const) {
        const missing = await get(path, { Accept: accept });
        expect([path, missing.status]).toEqual([path, 404]);
        expect(missing.headers.get('Content-Type')).toMatch(type);
      }
    }
    expect((await get('/api/v1/no-such-path')).headers.get('Content-Type')).toMatch(/json/);
    const { page: shown, close } = await web.open();
    expect((await shown.goto('/no-such-page'))?.status()).toBe(404);
    await shown.getByRole('heading', { name: 'Page not found' }).waitFor();
    await close();
    expect((await get('/assets/no-such-file.js')).status).toBe(404);
    expect(await (await get('/api/docs/')).text()).toContain('swagger-ui');
  });

  it('names files that caches may keep', async () => {
    const text = await (await get('/')).text();
    const [file = ''] = /\/assets\/[^"]+\.js/.exec(text) ?? [];
    for (const encoding of ['gzip', 'identity']) {
      const response = await get(file, { 'Accept-Encoding': encoding });
      expect([encoding, response.status]).toEqual([encoding, 200]);
      expect(response.headers.get('Cache-Control')).toBe('public, max-age=31536000, immutable');
      expect(response.headers.get('Content-Encoding')).toBe(encoding === 'gzip' ? 'gzip' : null);
      expect(response.headers.get('Vary')).toBe('Accept-Encoding');
    }
  });
});

describe('a page of the previous release', () => {
  it('reloads once if a file is missing at the service, but not without a connection', async () => {
    const text = { title: 'During a rollout', description: 'With **Markdown**' };
    const { key: own } = await ada.api.create(text);
    const { page, problems, close } = await web.open();
    const isChunk = /\/assets\/render-[^/]+\.js$/;
    const app = `${web.url}/`;
    await signIn(page, ada);
    let loads = 0;
    let checks = 0;
    page.on('domcontentloaded', () => {
      loads += 1;
    });
    page.on('request', (request) => {
      if (request.url() === app) checks += 1;
    });
    const openIssue = async () => {
      await page.getByRole('link', { name: text.title }).click();
      await page.getByText(text.description).waitFor();
    };

    for (const pattern of [isChunk, app])
      await page.route(pattern, (route) => route.abort('internetdisconnected'));
    const check = page.waitForEvent('requestfailed', (request) => request.url() === app);
    await openIssue();
    await check;
    // Without a request in flight: Chromium may never answer one that is intercepted at this time.
    await page.unrouteAll();
    await page.goto('/issues');
    expect([checks, loads]).toEqual([1, 1]);

    // The page of the next release names another script.
    await page.route(isChunk, (route) => route.fulfill({ status: 404, body: '{}' }));
    await page.route(app, (route) => route.fulfill({ body: '<script src="/assets/index-next.js">' }));
    const again = page.waitForEvent('requestfailed', (request) => isChunk.test(request.url()) && loads === 2);
    await openIssue();
    // The file is still missing after the reload.
    await again;
    expect(new URL(page.url()).pathname).toBe(`/issues/${own}`);
    await page.unrouteAll();
    await page.reload();
    await page.locator('.markdown strong').waitFor();
    expect([checks, loads]).toEqual([2, 3]);
    expect(problems.filter((problem) => !/404|ERR_INTERNET_DISCONNECTED/.test(problem))).toEqual([]);
    await close();
  });
});

describe('a text', () => {
  it('shows each block in its own direction, and links as people write them', async () => {
    const description = [
      '# مرحبا',
      'بريد test',
      'plain text',
      '- ראשון\n- second',
      '1. loose\n\n   שלום',
      '> اقتباس',
      '| שם | b |\n|---|---|\n| ג | 1 |',
      '```\nשלום\n```',
      '見て（https://例え.jp/パス）。 [![an image](https://i.example/x.png)](https://h.example/) [^1]',
      '[^1]: A footnote <!-- hidden -->',
    ].join('\n\n');
    const title = 'الطابعة לא עובדת';
    const { key: own } = await ada.api.create({ title, description });
    await ada.api.putLink(own, { type: 'external_issue', relation: 'relates_to', ref: 'x', title: 'קישור' });
    const page = await web.openAs(ada, `/issues/${own}`);
    for (const loaded of ['.markdown table', '.link-name']) await page.locator(loaded).waitFor();
    const directionOf = (selector: string) =>
      page.evaluate(
        `[...document.querySelectorAll(${JSON.stringify(selector)})].map((element) => getComputedStyle(element).direction).join(' ')`,
      );
    const directions = { 'h1 bdi': 'rtl', '.markdown h3': 'rtl', '.markdown > p': 'rtl ltr ltr ltr' };
    const inLists = {
      '.markdown > ul > li': 'rtl ltr',
      '.markdown ol p': 'ltr rtl',
      '.markdown ol > li': 'ltr',
    };
    const others = { '.markdown > :is(blockquote, table, pre)': 'rtl rtl rtl', '.link-name': 'rtl' };
    for (const [selector, expected] of Object.entries({ ...directions, ...inLists, ...others }))
      expect({ selector, is: await directionOf(selector) }).toEqual({ selector, is: expected });
    expect(
      await page
        .locator('.markdown a')
        .evaluateAll((links) => links.map((link) => [link.textContent, link.getAttribute('href')])),
    ).toEqual([
      ['https://例え.jp/パス', 'https://xn--r8jz45g.jp/%E3%83%91%E3%82%B9'],
      ['an image', 'https://h.example/'],
    ]);
    const shown = (await page.locator('.markdown').textContent()) ?? '';
    expect([shown.includes('[^1]: A footnote'), shown.includes('hidden')]).toEqual([true, false]);
    await page.getByRole('button', { name: 'Edit description' }).click();
    const field = page.getByRole('textbox', { name: 'Description' });
    await field.fill('סוף');
    expect(await directionOf('.description textarea')).toBe('rtl');
    await page.getByRole('button', { name: 'Preview' }).first().click();
    await page.locator('.editor-preview .markdown p').waitFor();
    expect(await directionOf('.editor-preview .markdown p')).toBe('rtl');
    await page.getByRole('button', { name: 'Write' }).first().click();
    await field.press('Control+Enter');
    await page.getByText('Show the texts').click();
    await page.locator('.diff-added').waitFor();
    expect(await directionOf('.diff-added')).toBe('rtl');
    expect(web.problems()).toEqual([]);
    await web.closePages();
  });
});
