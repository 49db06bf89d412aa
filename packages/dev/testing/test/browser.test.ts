import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { accessibilityProblems, type Browser, launchBrowser, openPage } from '../src/browser/browser.ts';
import { findChromium, unpackPackaged } from '../src/browser/chromium.ts';

describe('findChromium', () => {
  it('uses CHROMIUM_PATH, then PATH', () => {
    const environment = { CHROMIUM_PATH: process.execPath, PATH: '/nowhere' };
    expect(findChromium(environment).executablePath).toBe(process.execPath);
    expect(() => findChromium({ CHROMIUM_PATH: '/nowhere/chromium' })).toThrow('does not exist');
  });

  it('unpacks the packaged one with its libraries and fonts', () => {
    const cache = mkdtempSync(join(tmpdir(), 'tessera-chromium-'));
    try {
      const first = unpackPackaged(cache);
      const { LD_LIBRARY_PATH: libraries = '', FONTCONFIG_FILE: fonts = '' } = first.env;
      const files = [first.executablePath, join(libraries, 'libnss3.so'), fonts];
      expect(files.filter((file) => file.startsWith(cache) && existsSync(file))).toEqual(files);
      expect(unpackPackaged(cache)).toEqual(first);
    } finally {
      rmSync(cache, { recursive: true });
    }
  });
});

describe('a page', () => {
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchBrowser();
  });
  afterAll(() => browser.close());

  const show = async (html: string, policy?: string) => {
    const opened = await openPage(browser, policy === undefined ? { bypassCSP: true } : {});
    await opened.page.route('http://page.example/**', (route) =>
      route.fulfill({
        contentType: 'text/html',
        body: `<!doctype html><html lang="en"><title>Page</title><main><h1>Page</h1>${html}</main></html>`,
        headers: policy === undefined ? {} : { 'Content-Security-Policy': policy },
      }),
    );
    await opened.page.goto('http://page.example/');
    return opened;
  };

  it('without faults has no problems', async () => {
    const { page, problems, close } = await show('<p>Text</p>', "default-src 'none'");
    expect([await page.title(), problems]).toEqual(['Page', []]);
    await close();
  });

  it('reports exceptions, console errors and policy violations', async () => {
    const { problems, close, page } = await show(
      '<script>console.error("wrong"); throw new Error("thrown")</script>',
    );
    expect(problems).toEqual(['error: wrong', 'exception: thrown']);
    await close();
    const blocked = await show('<script>document.title = "ran"</script>', "script-src 'none'");
    await blocked.page.evaluate('reportPolicyViolation("last")');
    expect(blocked.problems).toContainEqual(expect.stringMatching(/^policy: script-src/));
    expect(await blocked.page.title()).toBe('Page');
    await blocked.close();
    expect(page.isClosed()).toBe(true);
  });

  it('is checked by axe', async () => {
    const good = await show('<label>Name <input></label>');
    expect(await accessibilityProblems(good.page)).toEqual([]);
    await good.close();
    const bad = await show('<input>');
    expect(await accessibilityProblems(bad.page)).toContainEqual(
      expect.stringMatching(/^label \(critical\)/),
    );
    await bad.close();
  });

  it('is checked by axe for its colors alone', async () => {
    const { page, close } = await show('<input><p style="color: #ccc; background: #fff">Pale</p>');
    const rulesOf = (problems: string[]) => problems.map((problem) => problem.split(' ')[0]).sort();
    expect(rulesOf(await accessibilityProblems(page))).toEqual(['color-contrast', 'label']);
    expect(rulesOf(await accessibilityProblems(page, 'colors'))).toEqual(['color-contrast']);
    await close();
  });
});
