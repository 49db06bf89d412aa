import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { fillExamples } from './examples.ts';
import { type Page, signIn, startWeb } from './web.ts';

const folder = process.argv[2] ?? '.data/screenshots';
const widths = [1440, 768, 375];
const themes = ['light', 'dark'] as const;

mkdirSync(folder, { recursive: true });
const web = await startWeb();
try {
  const { ada, key } = await fillExamples(web, 60);
  for (const colorScheme of themes) {
    for (const width of widths) {
      const { page, problems, close } = await web.open({ colorScheme, viewport: { width, height: 900 } });
      const take = (name: string, shown: Page = page) =>
        shown.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
      await page.goto('/sign-in');
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await take('sign-in');
      await signIn(page, ada);
      await page.getByRole('row').nth(5).waitFor();
      await take('list');
      await page.getByRole('button', { name: 'Priority' }).click();
      await page.getByRole('option').first().waitFor();
      await take('list-filter');
      await page.goto(`/issues/${key}`);
      await page.getByText('The queue was full').waitFor();
      await page.locator('.markdown ul').first().waitFor();
      await page.getByRole('heading', { name: 'Links' }).waitFor();
      await take('issue');
      await page.getByRole('button', { name: 'New issue' }).click();
      await page.getByRole('dialog').getByLabel('Title').waitFor();
      await take('create');
      await page.goto('/board');
      await page.locator('.card').nth(5).waitFor();
      await take('board');
      await page.getByRole('button', { name: /^Move/ }).first().click();
      await page.getByRole('option').first().waitFor();
      await take('board-move');
      await page.keyboard.press('Escape');
      await page.keyboard.press('Control+k');
      await page.getByPlaceholder('Find a command or an issue').fill('in');
      await page.getByRole('option', { name: key }).waitFor();
      await take('palette');
      await page.keyboard.press('Escape');
      await page.keyboard.press('?');
      await page.getByRole('dialog', { name: 'Keyboard' }).waitFor();
      await take('keyboard');
      if (problems.length > 0) throw new Error(problems.join('\n'));
      await close();
    }
  }
  process.stdout.write(`The pictures are in ${folder}.\n`);
} finally {
  await web.stop();
}
