import type { Page, Person, Web } from './web.ts';

/** What a run of a person who works by keys alone has cost. */
export interface Thirty {
  /** Key presses, each typed letter included, for each issue. */
  keysAnIssue: number;
  /** The times from a key to the next frame that shows its effect, as the browser measures them, in milliseconds, sorted. */
  latencies: number[];
}

const labels = ['billing', 'customer', 'export'] as const;

/**
 * Works through issues on the board by keys: opens each, sets its priority, an assignee and two labels, comments with a mention,
 * links a ticket, looks for duplicates, changes the status, and moves its card.
 * @param count how many issues
 * @param onIssue is called after each
 */
export async function workByKeys(
  web: Web,
  { ada, bob }: { ada: Person; bob: Person },
  count: number,
  onIssue: (done: number) => void = () => {},
): Promise<Thirty> {
  for (const name of labels) await makeLabel(ada, name);
  const made: string[] = [];
  for (let number = count; number >= 1; number -= 1) {
    made.unshift((await ada.api.create({ title: `The parcel ${number} is lost`, priority: 'LOW' })).key);
    // Columns are sorted by the time of the last change.
    await bob.api.addComment(made[0] ?? '', 'A customer has asked.');
  }
  // Other cards would be between these.
  const page = await web.openAs(ada, '/board?q=parcel');
  await page.evaluate(observeKeys);
  let keys = 0;
  const press = async (...pressed: string[]) => {
    for (const key of pressed) {
      keys += 1;
      await page.keyboard.press(key);
    }
  };
  const choose = async (key: string, ...names: string[]) => {
    await press(key);
    for (const name of names) await press(await digitOf(page, name));
  };
  const shown = (text: string | RegExp) => page.getByRole('button', { name: text }).waitFor();
  await page.locator('[data-column=OPEN] [data-card]').first().waitFor();
  await press('j');
  for (let done = 0; done < count; done += 1) {
    // The next card of the first column, from that which has moved.
    if (done > 0) await press('ArrowLeft');
    await press('o');
    await page.getByRole('heading', { level: 1, name: /^The parcel/ }).waitFor();
    const key = new URL(page.url()).pathname.split('/').at(-1) ?? '';
    await choose('p', 'Urgent');
    await shown('Priority: Urgent');
    await choose('a', 'Bob Kaplan');
    await shown('Assignee: Bob Kaplan');
    await choose('l', 'billing', 'customer');
    await press('Escape');
    await shown(/^Labels: billing,? ?customer/);
    await press('m', '@', 'b');
    await page.getByRole('option', { name: /Bob Kaplan/ }).waitFor();
    await press('Enter', 'o', 'k', 'Control+Enter');
    await page.locator('.comment', { hasText: '@bob' }).waitFor();
    await press('t', '4', '7', '1', 'Enter');
    await page.locator('.link-name', { hasText: '471' }).waitFor();
    await press('Control+k', 'l', 'o', 's');
    await page
      .getByRole('option', { name: /The parcel/ })
      .first()
      .waitFor();
    await press('Escape');
    await choose('s', 'In progress');
    await shown('Status: In progress');
    await press('g', 'b');
    await page.locator(`[data-column=IN_PROGRESS] [data-card="${key}"] a:focus`).waitFor();
    await choose('s', 'Resolved');
    await page.locator(`[data-column=RESOLVED] [data-card="${key}"] a:focus`).waitFor();
    onIssue(done + 1);
  }
  const slow = (await page.evaluate('latenciesOfKeys')) as number[];
  const fast = Array.from({ length: Math.max(keys - slow.length, 0) }, () => fastestMs);
  return { keysAnIssue: keys / count, latencies: [...fast, ...slow.sort((one, other) => one - other)] };
}

async function makeLabel({ api }: Person, name: string): Promise<void> {
  const known = await api.labels();
  if (!known.some((label) => label.name === name)) await api.createLabel({ name, color: '#3b82f6' });
}

/** Waits for an option of the open picker. @returns the digit that chooses it */
async function digitOf(page: Page, name: string): Promise<string> {
  const options = page.getByRole('dialog').getByRole('option');
  await options.filter({ hasText: name }).first().waitFor();
  const names = await options.allInnerTexts();
  return String(names.findIndex((one) => one.includes(name)) + 1);
}

/** Browsers do not report faster ones (Event Timing, 3.2). */
const fastestMs = 16;

const observeKeys = `globalThis.latenciesOfKeys = [];
  new PerformanceObserver((list) => {
    for (const { name, duration } of list.getEntries()) if (name === 'keydown') latenciesOfKeys.push(duration);
  }).observe({ type: 'event', durationThreshold: ${fastestMs} });`;

/** The latency that this share of the keys does not exceed. */
export const percentile = ({ latencies }: Thirty, share: number): number =>
  latencies[Math.min(Math.floor(latencies.length * share), latencies.length - 1)] ?? 0;
