import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Page, type Person, signIn, startWeb, type Web } from '../src/web.ts';

/**
 * Each budget is that of a machine with nothing else to do. Other suites run beside this one, so a time may be `slack` times
 * as long, and the best of some runs counts. The measured figures are printed. Counts have no slack.
 */
const slack = 4;
/** The time of the loop on a machine with nothing else to do, in milliseconds. */
const usualLoop = 60;
const rowCount = 10_000;
const openIssues = '/issues?order=created_at';

/** "Slow 4G" of Lighthouse (`throttling.mobileSlow4G`): 150 ms for a round trip, 1.6 and 0.75 Mbit/s. */
const slow4G = {
  offline: false,
  latency: 150,
  downloadThroughput: (1.6 * 1024 * 1024) / 8,
  uploadThroughput: (750 * 1024) / 8,
};

let web: Web;
let ada: Person;
let storageState: Awaited<ReturnType<ReturnType<Page['context']>['storageState']>>;
const figures: string[] = [];

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  // The assignee is known to the service only after a first request.
  await ada.api.create({ title: 'The last one', assignee_id: ada.id });
  await web.sql(
    'issues',
    `INSERT INTO issues (id, title, description, priority, status, reporter_id, assignee_id, created_at, updated_at)
     SELECT gen_random_uuid(), 'Many ' || n, 'Text', 'LOW', 'OPEN', $1, $1, now() - n * interval '1 s', now()
     FROM generate_series(1, $2::int) n`,
    [ada.id, rowCount - 1],
  );
  const { page, close } = await web.open();
  await signIn(page, ada);
  storageState = await page.context().storageState();
  await close();
});

afterAll(async () => {
  process.stdout.write(`budgets: ${figures.join('; ')}\n`);
  expect(await web?.stop()).toEqual([0, 0]);
});

/** Opens a page of Ada in a browser with an empty cache. */
const openSignedIn = () => web.open({ storageState, viewport: { width: 1440, height: 900 } });

function record(name: string, values: readonly number[], budget: number): void {
  const rounded = values.map((value) => Math.round(value)).join(', ');
  figures.push(`${name} ${rounded} ms (budget ${budget} ms)`);
  expect({ name, isWithin: Math.min(...values) <= budget * slack, rounded }).toMatchObject({
    isWithin: true,
  });
}

/** Returns the time from the start of the navigation to the frame with the first row. */
async function timeOfRows(isSlow: boolean): Promise<number> {
  const { page, problems, close } = await openSignedIn();
  if (isSlow) {
    const devtools = await page.context().newCDPSession(page);
    await devtools.send('Network.enable');
    await devtools.send('Network.emulateNetworkConditions', slow4G);
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: 4 });
  }
  await page.addInitScript(`new MutationObserver((_changes, observer) => {
    if (document.querySelector('.title-link') === null) return;
    observer.disconnect();
    requestAnimationFrame(() => setTimeout(() => { window.rowsAt = performance.now(); }));
  }).observe(document, { childList: true, subtree: true });`);
  await page.goto('/issues', { waitUntil: 'commit' });
  await page.locator('.title-link').nth(10).waitFor();
  const time = await page.evaluate<number>(`new Promise((resolve) => {
    const look = () => (window.rowsAt === undefined ? setTimeout(look, 5) : resolve(window.rowsAt));
    look();
  })`);
  expect(problems).toEqual([]);
  await close();
  return time;
}

describe('the first rows', () => {
  it('are visible within a second', async () => {
    record(
      'rows, desktop',
      [await timeOfRows(false), await timeOfRows(false), await timeOfRows(false)],
      1_000,
    );
  });

  it('are visible within 2.5 seconds with slow 4G and a quarter of the processor', async () => {
    record('rows, slow 4G and 4x CPU', [await timeOfRows(true), await timeOfRows(true)], 2_500);
  });
});

/** Scrolls 120 frames by 400 px each. Returns the 95th percentile of their times and the largest number of elements. */
async function scrollByFrames(page: Page): Promise<{ p95: number; elements: number; end: number }> {
  const { times, elements, end } = await page.evaluate<{ times: number[]; elements: number; end: number }>(
    `new Promise((resolve) => {
      const times = [];
      let elements = 0;
      let last;
      const frame = (now) => {
        if (last !== undefined) times.push(now - last);
        last = now;
        elements = Math.max(elements, document.getElementsByTagName('*').length);
        if (times.length === 120) return resolve({ times, elements, end: scrollY });
        scrollBy(0, 400);
        requestAnimationFrame(frame);
      };
      requestAnimationFrame(frame);
    })`,
  );
  const p95 = times.sort((a, b) => a - b)[Math.floor(times.length * 0.95)] ?? Number.NaN;
  return { p95, elements, end };
}

it('10,000 rows scroll with at most 600 elements', async () => {
  const { page, close } = await openSignedIn();
  // The time of a loop tells how slow the machine is at this time.
  const slowness = async () => {
    const loop = await page.evaluate<number>(`(() => {
      const from = performance.now();
      let sum = 0;
      for (let index = 0; index < 5e7; index += 1) sum += index % 7;
      return sum > 0 ? performance.now() - from : 0;
    })()`);
    return Math.max(1, loop / usualLoop);
  };
  // Without the 200 requests for pages, which the limit of reads slows down.
  await page.route(/\/api\/v1\/issues\/\?/, async (route) => {
    const response = await route.fetch();
    const [row] = (await response.json()) as { id: string; key: string; title: string }[];
    const json = Array.from({ length: rowCount }, (_, index) => ({
      ...row,
      id: `${row?.id.slice(0, -5)}${10_000 + index}`,
      key: `ISS-${index + 100_000}`,
      title: `Row ${index}`,
    }));
    await route.fulfill({ json, headers: { 'X-Total-Count': String(rowCount) } });
  });
  await page.goto(openIssues);
  await page.getByRole('table', { name: 'Issues' }).waitFor();
  expect(await page.getByRole('table').getAttribute('aria-rowcount')).toBe(String(rowCount + 1));
  const frames: number[] = [];
  let elements = 0;
  // More runs where the first ones met other work.
  for (let run = 0; run < 10 && (run < 3 || Math.min(...frames) > 33 * slack); run += 1) {
    await page.evaluate('scrollTo(0, 0)');
    const before = await slowness();
    const scrolled = await scrollByFrames(page);
    expect(scrolled.end).toBe(120 * 400);
    frames.push(scrolled.p95 / Math.max(before, await slowness()));
    elements = Math.max(elements, scrolled.elements);
  }
  await page.evaluate('scrollTo(0, document.documentElement.scrollHeight)');
  await page.getByRole('link', { name: `Row ${rowCount - 1}`, exact: true }).waitFor();
  figures.push(`${elements} elements (budget 600)`);
  expect(elements).toBeLessThanOrEqual(600);
  record('scroll frame p95 on a quiet machine', frames, 33);
  await close();
});

it('an issue and a list that were seen are shown again without a response', async () => {
  const { page, problems, close } = await openSignedIn();
  await page.goto(openIssues);
  await page.locator('.title-link').nth(10).waitFor();
  await page.evaluate('scrollTo(0, 600)');
  const link = page.getByRole('link', { name: `Many ${rowCount - 30}`, exact: true });
  await link.click();
  await page.getByRole('heading', { level: 1, name: `Many ${rowCount - 30}` }).waitFor();
  await page.locator('.markdown').waitFor();
  await page.getByText('created this').first().waitFor();
  await page.goBack();
  await link.waitFor();
  // From here on, no request gets a response.
  let requests = 0;
  await page.route('**/*', () => {
    requests += 1;
  });
  const title = `Many ${rowCount - 30}`;
  const measure = (action: string, isShown: string) =>
    page.evaluate<number>(`new Promise((resolve) => {
      const start = performance.now();
      ${action};
      const look = () => (${isShown} ? resolve(performance.now() - start) : requestAnimationFrame(look));
      requestAnimationFrame(look);
    })`);
  const there: number[] = [];
  const back: number[] = [];
  const position = await page.evaluate<number>('scrollY');
  expect(position).toBe(600);
  for (let round = 0; round < 3; round += 1) {
    const row = `[...document.querySelectorAll('.title-link')].find((one) => one.textContent === '${title}')`;
    there.push(
      await measure(`${row}.click()`, `document.querySelector('h1')?.textContent.includes('${title}')`),
    );
    back.push(await measure('history.back()', `${row} !== undefined`));
    await page.locator(':focus', { hasText: title }).waitFor();
    expect(await page.evaluate('scrollY')).toBe(position);
  }
  record('list to issue', there, 100);
  record('issue to list', back, 100);
  figures.push(`${requests} requests without a response`);
  expect(problems).toEqual([]);
  await close();
});
