import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  accessibilityProblems,
  type Browser,
  launchBrowser,
  openPage,
  type Page,
} from '@tessera/testing/browser';
import type { TestServer } from '@tessera/testing/test-server';
import type { Branding } from '../src/pages/branding.ts';
import { pageContext } from '../src/pages/page-context.ts';
import { aBranding, type SampleName, samplePages, startSampleServer } from './support/sample-pages.ts';

const texts = {
  client: 'Landesamt für Verkehr und Infrastruktur',
  email: 'maximiliane.von-der-hohenstaufen@landesverwaltung.example',
  value: 'q2ls0xR3nW4vT8z'.repeat(6),
};
const branding = await aBranding();
const names = Object.keys(samplePages(pageContext(branding, { headers: {} }), texts)) as SampleName[];
// It leaves at once.
const lasting: SampleName[] = names.filter((name) => name !== 'continue');

let browser: Browser;
let server: TestServer;
const servers: TestServer[] = [];
/** Starts a server that is stopped after the tests, also if one fails. */
const serve = async (of: Branding): Promise<TestServer> => {
  const started = await startSampleServer(of, texts);
  servers.push(started);
  return started;
};
beforeAll(async () => {
  server = await serve(branding);
  browser = await launchBrowser();
});
afterAll(async () => {
  await browser?.close();
  await Promise.all(servers.map((one) => one.close()));
});

type Options = Parameters<typeof openPage>[1];

/** Opens each page, and returns what the function finds. */
async function findIn(
  options: Options,
  find: (page: Page) => Promise<string[]>,
  only = lasting,
): Promise<string[]> {
  const { page, problems, close } = await openPage(browser, { baseURL: server.url, ...options });
  const found: string[] = [];
  for (const name of only) {
    await page.goto(`/samples/${name}`);
    for (const problem of await find(page)) found.push(`${name}: ${problem}`);
  }
  await close();
  return [...found, ...problems];
}

/** The elements that are wider than the page, or whose text is cut off. */
const overflow = async (page: Page) =>
  (await page.evaluate(`[...document.querySelectorAll('*')]
    .filter((one) => one.getBoundingClientRect().right > innerWidth + 0.5 || one.scrollWidth > one.clientWidth + 1 && one.clientWidth > 0 && one.tagName !== 'INPUT')
    .map((one) => one.outerHTML.slice(0, 80))`)) as string[];

const focused = (page: Page) =>
  page.evaluate(`(() => {
    const { name, tagName, value } = document.activeElement;
    return tagName === 'BUTTON' ? 'button ' + value : name || tagName.toLowerCase();
  })()`);

describe('every page', () => {
  it.each(['light', 'dark'] as const)(
    'has no violation of accessibility rules in the %s theme',
    async (colorScheme) => {
      const options = { bypassCSP: true, colorScheme, reducedMotion: 'reduce' as const };
      // The themes differ in colors alone.
      const rules = colorScheme === 'light' ? 'all' : 'colors';
      expect(await findIn(options, (page) => accessibilityProblems(page, rules))).toEqual([]);
    },
  );

  it.each([
    ['en', 1440],
    ['de', 768],
    ['de', 375],
    ['de', 320],
  ])('fits the screen, in %s at %i pixels', async (locale, width) => {
    expect(await findIn({ locale, viewport: { width, height: 800 } }, overflow)).toEqual([]);
  });

  it('fits a phone with text of twice the size', async () => {
    const enlarge = async (page: Page) => {
      await page.addStyleTag({ content: 'html { font-size: 200% }' });
      return overflow(page);
    };
    expect(
      await findIn({ locale: 'de', bypassCSP: true, viewport: { width: 375, height: 800 } }, enlarge),
    ).toEqual([]);
  });

  it('shows the borders of buttons and messages in forced colors', async () => {
    const borderless = async (page: Page) =>
      (await page.evaluate(`[...document.querySelectorAll('button, .button, .error, .note, input:not([type=hidden])')]
        .filter((one) => parseFloat(getComputedStyle(one).borderTopWidth) === 0).map((one) => one.outerHTML)`)) as string[];
    expect(await findIn({ forcedColors: 'active' }, borderless)).toEqual([]);
  });
});

describe('by keyboard', () => {
  const orders: [SampleName, string[]][] = [
    ['sign-in', ['email', 'password', 'button ']],
    ['sign-in-wrong', ['password', 'button ']],
    ['new-password', ['password', 'new_password', 'button ']],
    ['consent', ['body', 'button allow', 'button deny']],
    ['sign-out', ['body', 'button sign_out', 'button stay']],
  ];

  it.each(orders)('%s has its first field focused, and a visible order', async (name, expected) => {
    const order: unknown[] = [];
    const find = async (page: Page) => {
      // A browser gives the focus of autofocus when it first draws the page, which may follow its load.
      if (expected[0] !== 'body') await page.waitForFunction('document.activeElement !== document.body');
      order.push(await focused(page));
      while (order.length < expected.length) {
        await page.keyboard.press('Tab');
        order.push(await focused(page));
      }
      return (await page.evaluate(
        "getComputedStyle(document.activeElement).outlineStyle === 'none' ? ['no visible focus'] : []",
      )) as string[];
    };
    expect(await findIn({}, find, [name])).toEqual([]);
    expect(order).toEqual(expected);
  });
});

describe.each([true, false])('with scripts: %s', (javaScriptEnabled) => {
  it('a form is sent by Enter, and the refusal has the focus in the password', async () => {
    const { page, close } = await openPage(browser, { baseURL: server.url, javaScriptEnabled });
    await page.goto('/samples/sign-in');
    await page.getByLabel('E-mail').fill('ada@example.com');
    await page.getByLabel('Password').fill('wrong');
    const [response] = await Promise.all([
      page.waitForResponse((one) => one.request().method() === 'POST'),
      page.keyboard.press('Enter'),
    ]);
    expect(response.status()).toBe(422);
    expect(new URLSearchParams(response.request().postData() ?? '').get('state')).toBe(texts.value);
    // Of the same origin, so that the service can check where the form comes from.
    expect(await response.request().headerValue('origin')).toBe(server.url);
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('Password').getAttribute('autofocus')).toBe('');
    await page.keyboard.type('typed');
    expect(await page.getByLabel('Password').inputValue()).toBe('typed');
    await close();
  });

  it('the page that continues leaves at once', async () => {
    const { page, problems, close } = await openPage(browser, { baseURL: server.url, javaScriptEnabled });
    await page.goto('/samples/continue');
    await page.waitForURL('**/away?*');
    expect(problems).toEqual([]);
    await close();
  });
});

it('a brand changes name, color, logo and texts', async () => {
  const green = await aBranding({ name: 'Ärzteportal', color: '#0b6b3a' });
  const own = await serve(green);
  const { page, problems, close } = await openPage(browser, { baseURL: own.url });
  await page.goto('/samples/sign-in');
  expect(await page.title()).toContain('Ärzteportal');
  expect(await page.evaluate("getComputedStyle(document.querySelector('button')).backgroundColor")).toBe(
    'rgb(11, 107, 58)',
  );
  expect(await page.evaluate("document.querySelector('.logo').naturalWidth")).toBeGreaterThan(0);
  expect(problems).toEqual([]);
  await close();
});
