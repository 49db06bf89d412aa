import { accessibilityProblems, type Page } from '@tessera/testing/browser';

/** The violations of accessibility rules, and a line if the page is wider than the screen. */
export async function pageProblems(page: Page): Promise<string[]> {
  const overflow = await page.evaluate('document.documentElement.scrollWidth - innerWidth');
  return [
    ...(await accessibilityProblems(page)),
    ...(overflow === 0 ? [] : [`${overflow} pixels wider than the screen`]),
  ];
}
