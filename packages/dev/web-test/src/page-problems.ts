import { accessibilityProblems, type Page } from '@tessera/testing/browser';

/**
 * The violations of accessibility rules, and a line if the page is wider than the screen. On a desktop, the colors are checked
 * in both themes; everything else of the themes, and the colors of a phone, are the same.
 */
export async function pageProblems(page: Page): Promise<string[]> {
  const problems: string[] = [];
  const isDesktop = Number(page.viewportSize()?.width) > 1_000;
  for (const colorScheme of isDesktop ? (['light', 'dark'] as const) : (['light'] as const)) {
    // Without motion, the colors change at once.
    await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
    const rules = colorScheme === 'light' ? 'all' : 'colors';
    for (const problem of await accessibilityProblems(page, rules))
      problems.push(`${colorScheme}: ${problem}`);
  }
  const overflow = Number(await page.evaluate('document.documentElement.scrollWidth - innerWidth'));
  if (overflow !== 0) problems.push(`${overflow} pixels wider than the screen`);
  return problems;
}
