import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { findChromium } from './chromium.ts';

export type { Browser, BrowserContext, Page, Route } from 'playwright-core';

/** Starts a headless Chromium. Tests of any account can start it, because it runs without a sandbox. */
export async function launchBrowser(): Promise<Browser> {
  const { executablePath, env } = findChromium();
  return chromium.launch({
    executablePath,
    env: { ...process.env, ...env },
    args: ['--no-sandbox', '--disable-gpu', '--disable-background-networking'],
  });
}

export interface WatchedPage {
  page: Page;
  /** Errors and warnings of the console, uncaught exceptions and violations of the Content-Security-Policy so far. */
  problems: string[];
  close: () => Promise<void>;
}

/** Opens a page in a context of its own and records its problems from the first request on. */
export async function openPage(browser: Browser, options: BrowserContextOptions = {}): Promise<WatchedPage> {
  const context = await browser.newContext(options);
  const problems: string[] = [];
  await context.exposeBinding('reportPolicyViolation', (_source, text: string) => problems.push(text));
  await context.addInitScript(
    `document.addEventListener('securitypolicyviolation', ({ violatedDirective, blockedURI, sample }) =>
       reportPolicyViolation('policy: ' + violatedDirective + ' ' + blockedURI + ' ' + sample));`,
  );
  const page = await context.newPage();
  page.on('console', (message) => {
    if (['error', 'warning'].includes(message.type())) problems.push(`${message.type()}: ${message.text()}`);
  });
  page.on('pageerror', (error) => problems.push(`exception: ${error.message}`));
  return { page, problems, close: () => context.close() };
}

interface AxeResults {
  violations: { id: string; impact: string; nodes: { html: string; failureSummary: string }[] }[];
}

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');

const tags = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];

/**
 * Checks the page against WCAG 2.2 A and AA by axe-core. The context needs `bypassCSP`, because axe is injected.
 * @param rules `colors`: only the rules that depend on colors, for a page whose other rules are checked in another theme
 * @returns a line for each element that violates a rule
 */
export async function accessibilityProblems(page: Page, rules: 'all' | 'colors' = 'all'): Promise<string[]> {
  if ((await page.evaluate('typeof axe')) === 'undefined') await injectAxe(page);
  const only = rules === 'all' ? JSON.stringify(tags) : colorRules;
  const results = (await page.evaluate(
    `axe.run(document, { runOnly: ${only}, resultTypes: ['violations'] })`,
  )) as AxeResults;
  return results.violations.flatMap(({ id, impact, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${id} (${impact}): ${html.slice(0, 200)} ${failureSummary}`),
  );
}

const colorRules = `axe.getRules(${JSON.stringify(tags)})
  .filter(({ tags }) => tags.includes('cat.color'))
  .map(({ ruleId }) => ruleId)`;

// `page.evaluate` copies and parses its text several times, which takes twice as long for half a megabyte.
async function injectAxe(page: Page): Promise<void> {
  const session = await page.context().newCDPSession(page);
  await session.send('Runtime.evaluate', { expression: axe });
  await session.detach();
}
