import { mkdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { startGitLab } from '@tessera/trackers/fakes';
import { fillExamples, relateExamples } from './examples.ts';
import { gitLabVariables, type Page, signIn, startWeb } from './web.ts';

const folder = fileURLToPath(new URL('../pictures/', import.meta.url));
const maxBytes = 150_000;

interface Picture {
  name: string;
  colorScheme: 'light' | 'dark';
  width?: number;
  /** Opens the page and waits until it shows everything. */
  show: (page: Page, key: string) => Promise<void>;
}

const pictures: readonly Picture[] = [
  {
    name: 'list',
    colorScheme: 'light',
    show: async (page) => {
      await page.goto('/issues');
      await page.getByRole('row').nth(10).waitFor();
    },
  },
  {
    name: 'issue',
    colorScheme: 'light',
    show: async (page, key) => {
      await page.goto(`/issues/${key}`);
      await page.locator('.markdown ul').first().waitFor();
      await page.locator('.comment').nth(1).waitFor();
      await page.getByText('1 of 3 done').waitFor();
    },
  },
  {
    name: 'board',
    colorScheme: 'dark',
    width: 1320,
    show: async (page) => {
      await page.goto('/board');
      for (const status of ['Open', 'In progress', 'Resolved'])
        await page.locator('.column', { hasText: status }).getByRole('link').nth(3).waitFor();
    },
  },
  {
    name: 'palette',
    colorScheme: 'dark',
    show: async (page, key) => {
      await page.goto(`/issues/${key}`);
      await page.locator('.comment').nth(1).waitFor();
      await page.keyboard.press('Control+k');
      await page.getByRole('dialog').getByRole('combobox').fill('pri');
      await page.getByRole('option').nth(3).waitFor();
    },
  },
];

/** Takes the pictures of the README and of docs/web-app.md. */
async function takePictures(): Promise<void> {
  mkdirSync(folder, { recursive: true });
  const project = 'acme/website';
  const tracker = await startGitLab({ project });
  const web = await startWeb({
    issues: {
      ...gitLabVariables(tracker, project),
    },
  });
  try {
    const { ada, key } = await fillExamples(web, 30);
    await relateExamples(ada, key);
    await ada.api.createView({ name: 'Bugs of customers', query: 'label=customer', is_shared: true });
    await ada.api.createView({ name: 'Urgent, mine', query: 'priority=URGENT&assignee=me' });
    await ada.api.sync(key);
    await web.sql(
      'issues',
      `UPDATE issues SET created_at = created_at - (31 - number) ^ 2 * interval '7 minutes',
         updated_at = updated_at - (31 - number) ^ 2 * interval '7 minutes',
         due_on = CASE WHEN number % 7 = 2 THEN current_date + number % 5 - 1 END`,
    );
    for (const { name, colorScheme, width = 1200, show } of pictures) {
      const { page, problems, close } = await web.open({
        colorScheme,
        viewport: { width, height: 750 },
      });
      await signIn(page, ada);
      await show(page, key);
      const path = join(folder, `${name}.png`);
      await page.screenshot({ path, animations: 'disabled' });
      if (problems.length > 0) throw new Error(problems.join('\n'));
      const { size } = statSync(path);
      if (size > maxBytes) throw new Error(`${path} has ${size} bytes, more than ${maxBytes}.`);
      await close();
    }
  } finally {
    await web.stop();
    await tracker.close();
  }
}

await takePictures();
process.stdout.write(`The pictures of the documents are in ${folder}.\n`);
