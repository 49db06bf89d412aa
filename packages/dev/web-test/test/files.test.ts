import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Page, type Person, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let page: Page;
let key: string;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  page = await web.openAs(ada);
});

beforeEach(async () => {
  ({ key } = await ada.api.create({ title: 'Files' }));
  await openIssue(page);
});

afterAll(async () => {
  const codes = await web?.stop();
  expect(codes).toEqual([0, 0]);
});

async function openIssue(tab: Page): Promise<void> {
  await tab.goto(`/issues/${key}`);
  await tab.getByLabel('Comment', { exact: true }).waitFor();
}

const comment = (tab = page) => tab.getByLabel('Comment', { exact: true });
const rows = (tab = page) => tab.getByRole('list', { name: 'Files of this text' }).getByRole('listitem');

/** A picture of one color, as base64. */
const png = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface GivenFile {
  name: string;
  base64: string;
  type?: string;
}

/** Lets the user paste or drop files into a field. */
async function give(kind: 'paste' | 'drop', files: readonly GivenFile[], tab = page): Promise<void> {
  await comment(tab).focus();
  await tab.evaluate(
    `((kind, files) => {
      const data = new DataTransfer();
      for (const { name, base64, type = 'application/octet-stream' } of files)
        data.items.add(new File([Uint8Array.from(atob(base64), (one) => one.charCodeAt(0))], name, { type }));
      const event = kind === 'paste'
        ? new ClipboardEvent('paste', { clipboardData: data, bubbles: true, cancelable: true })
        : new DragEvent('drop', { dataTransfer: data, bubbles: true, cancelable: true });
      document.activeElement.dispatchEvent(event);
    })(${JSON.stringify(kind)}, ${JSON.stringify(files)})`,
  );
}


describe('a file of a comment', () => {
  it('is pasted, uploaded and shown', async () => {
    await comment().fill('Before');
    await give('paste', [{ name: 'shot.png', base64: png, type: 'image/png' }]);
    await rows().filter({ hasText: 'shot.png' }).getByText('Uploaded').waitFor();
    expect(await comment().inputValue()).toMatch(/^Before!\[shot\.png\]\(attachment:[0-9a-f-]{36}\)\n$/);
    await comment().press('Control+Enter');
    const picture = page.locator('.comment img');
    await picture.waitFor();
    expect(await picture.getAttribute('alt')).toBe('shot.png');
    await page.waitForFunction(`document.querySelector('.comment img').naturalWidth === 1`);
    expect(web.problems()).toEqual([]);
  });
});
