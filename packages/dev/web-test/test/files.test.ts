import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { pageProblems } from '../src/page-problems.ts';
import { type Page, type Person, password, type Route, signIn, startWeb, type Web } from '../src/web.ts';

let web: Web;
let ada: Person;
let page: Page;
let key: string;

beforeAll(async () => {
  web = await startWeb();
  ada = await web.createPerson('ada', 'Ada Lovelace', true);
  page = await web.openAs(ada);
  // The browser is told to report choosers of files now: told beside a key, it might get the key first.
  page.on('filechooser', () => undefined);
});

beforeEach(async () => {
  ({ key } = await ada.api.create({ title: 'Files' }));
  await openIssue(page);
});

afterAll(async () => {
  expect(await web?.stop()).toEqual([0, 0]);
  // Chromium reports requests that are refused or cut.
  expect(web.problems(/ERR_INTERNET_DISCONNECTED|ERR_FAILED|status of (?:401|409|413|429|503)/)).toEqual([]);
});

async function openIssue(tab: Page): Promise<void> {
  await tab.goto(`/issues/${key}`);
  await tab.getByLabel('Comment', { exact: true }).waitFor();
}

const comment = (tab = page) => tab.getByLabel('Comment', { exact: true });
const rows = (tab = page) => tab.getByRole('list', { name: 'Files of this text' }).getByRole('listitem');

/** A picture of one color, as base64. */
const png =
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==';

interface GivenFile {
  name: string;
  base64: string;
  type?: string;
}

/** Lets the user paste or drop files into a field. */
async function give(kind: 'paste' | 'drop', files: readonly GivenFile[], field = comment()): Promise<void> {
  await field.focus();
  await field.page().evaluate(
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

/** Holds uploads, and answers them one by one. */
async function holdUploads(tab = page) {
  const held: Route[] = [];
  const arrived: (() => void)[] = [];
  await tab.route('**/app/api/v1/attachments/?**', (route) => {
    held.push(route);
    for (const tell of arrived.splice(0)) tell();
  });
  const count = async (expected: number) => {
    while (held.length < expected) await new Promise<void>((resolve) => arrived.push(resolve));
    return held.length;
  };
  return {
    held,
    /** Waits until so many uploads have been sent. */
    count,
    keys: () => held.map((route) => route.request().headers()['idempotency-key']),
    /** Lets those that were held and all others go on. */
    release: async () => {
      await tab.unroute('**/app/api/v1/attachments/?**');
      await Promise.all(held.map((route) => route.continue().catch(() => undefined)));
    },
  };
}

/** The files of a person in the service: how often each name was uploaded. */
async function uploaded(name: string): Promise<number> {
  const { rows: found } = await web.sql(
    'issues',
    `SELECT FROM attachments WHERE name = $1 AND state = 'stored'`,
    [name],
  );
  return found.length;
}

const row = (name: string, tab = page) => rows(tab).filter({ hasText: name });

describe('a file of a comment', () => {
  it('is pasted, uploaded and shown', async () => {
    await comment().fill('Before');
    await give('paste', [{ name: 'shot.png', base64: png, type: 'image/png' }]);
    await row('shot.png').getByText('Uploaded').waitFor();
    expect(await comment().inputValue()).toMatch(/^Before!\[shot\.png\]\(attachment:[0-9a-f-]{36}\)\n$/);
    await row('shot.png').getByLabel('Alt text of shot.png').fill('A [red] dot');
    expect(await comment().inputValue()).toMatch(/^Before!\[A \\\[red\\\] dot\]\(attachment:/);
    await page.getByRole('button', { name: 'Preview' }).click();
    await page.locator('.editor-preview img[alt="A [red] dot"]').waitFor();
    await page.getByRole('button', { name: 'Write' }).click();
    await comment().press('Control+Enter');
    const picture = page.locator('.comment img');
    await picture.waitFor();
    expect(await picture.getAttribute('alt')).toBe('A [red] dot');
    expect(await page.evaluate(`document.querySelector('.comment img').decode()`)).toBe(undefined);
    expect(await rows().count()).toBe(0);
  });

  it('is dropped or chosen by a key, and another type is a link with its size', async () => {
    await give('drop', [{ name: 'log.txt', base64: Buffer.from('a line').toString('base64') }]);
    await row('log.txt').getByText('Uploaded').waitFor();
    await comment().press('Escape');
    const chooser = page.waitForEvent('filechooser');
    await page.keyboard.press('u');
    const buffer = Buffer.alloc(2_345);
    await (await chooser).setFiles([{ name: 'second.bin', mimeType: 'application/zip', buffer }]);
    await row('second.bin').getByText('Uploaded').waitFor();
    expect(await comment().inputValue()).toMatch(
      /^\[log\.txt\]\(attachment:.*\)\n\[second\.bin\]\(attachment:.*\)\n$/,
    );
    await comment().press('Control+Enter');
    const text = page.locator('.comment .markdown');
    await text.getByText('(2.3 kB)').waitFor();
    expect(await text.textContent()).toBe('log.txt (6 bytes)\nsecond.bin (2.3 kB)\n');
    const files = page.getByRole('region', { name: 'Files 2' });
    const saved = page.waitForEvent('download');
    await files.getByRole('link', { name: 'second.bin' }).click();
    expect((await saved).suggestedFilename()).toBe('second.bin');
    await files.getByRole('button', { name: 'Delete the file log.txt' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('region', { name: 'Files 1' }).waitFor();
    await text.getByText('log.txt (file not found)').waitFor();
  });

  it('is written where its placeholder is while the user types, and undo leads to the text before it', async () => {
    const uploads = await holdUploads();
    await comment().pressSequentially('One');
    await give('paste', [{ name: 'typed.png', base64: png, type: 'image/png' }]);
    await row('typed.png').getByText('Uploading').waitFor();
    await comment().pressSequentially('Two');
    await uploads.count(1);
    await uploads.release();
    await row('typed.png').getByText('Uploaded').waitFor();
    await comment().pressSequentially(' three');
    const written = /^One!\[typed\.png\]\(attachment:[0-9a-f-]{36}\)\nTwo three$/;
    expect(await comment().inputValue()).toMatch(written);
    const undone: string[] = [];
    for (let step = 0; step < 20 && undone.at(-1) !== ''; step += 1) {
      await comment().press('Control+z');
      undone.push(await comment().inputValue());
    }
    expect(undone.at(-1)).toBe('');
    for (let step = 0; step < 20; step += 1) await comment().press('Control+Shift+z');
    expect(await comment().inputValue()).toMatch(written);
    // A placeholder that undo has brought back is replaced when the text is sent.
    while (!(await comment().inputValue()).includes('upload:')) await comment().press('Control+z');
    await comment().press('Control+Enter');
    await page.locator('.comment img[alt="typed.png"]').waitFor();
    expect(await uploaded('typed.png')).toBe(1);
  });

  it('leaves what an input method composes alone until its end', async () => {
    const uploads = await holdUploads();
    const devtools = await page.context().newCDPSession(page);
    await give('paste', [{ name: 'composed.png', base64: png, type: 'image/png' }]);
    await uploads.count(1);
    await devtools.send('Input.imeSetComposition', { text: 'にほ', selectionStart: 2, selectionEnd: 2 });
    await uploads.release();
    await row('composed.png').getByText('Uploaded').waitFor();
    expect(await comment().inputValue()).toMatch(/\(upload:[0-9a-f-]{36}\)\nにほ$/);
    await devtools.send('Input.imeSetComposition', { text: 'にほん', selectionStart: 3, selectionEnd: 3 });
    await devtools.send('Input.insertText', { text: '日本' });
    await eventually(
      () => comment().inputValue(),
      (text) => /^!\[composed\.png\]\(attachment:[0-9a-f-]{36}\)\n日本$/.test(text),
    );
  });

  it('is uploaded with two others at the same time, and a text waits for all of them', async () => {
    const uploads = await holdUploads();
    const names = ['one', 'two', 'three', 'four', 'five'].map((name) => `${name}.png`);
    await give(
      'paste',
      names.map((name) => ({ name, base64: png, type: 'image/png' })),
    );
    await uploads.count(3);
    expect(await page.getByRole('progressbar').count()).toBe(3);
    await rows().getByText('Waiting').nth(1).waitFor();
    await comment().press('Control+Enter');
    await page.getByText(/^Not sent: one\.png, two\.png, .* are not uploaded yet/).waitFor();
    await page.getByRole('button', { name: 'Cancel four.png' }).click();
    await uploads.held[0]?.continue();
    await uploads.count(4);
    expect(await uploaded('four.png')).toBe(0);
    await uploads.release();
    await rows().nth(3).getByText('Uploaded').waitFor();
    await eventually(
      () => comment().inputValue(),
      (text) => !text.includes('upload:'),
    );
    await page.getByText(/^Not sent/).waitFor({ state: 'detached' });
    await comment().press('Control+Enter');
    await page.locator('.comment img').nth(3).waitFor();
    expect((await ada.api.attachments(key)).map(({ name }) => name).sort()).toEqual(
      names.filter((name) => name !== 'four.png').sort(),
    );
  });
});

describe('a file of an issue', () => {
  it('is taken by the dialog for a new issue, and by the editor of its description', async () => {
    const image = { name: 'new.png', base64: png, type: 'image/png' };
    await page.keyboard.press('Escape');
    await page.keyboard.press('c');
    const dialog = page.getByRole('dialog', { name: 'New issue' });
    await dialog.getByLabel('Title').fill('With a picture');
    const uploads = await holdUploads();
    const field = dialog.getByRole('textbox', { name: 'Description' });
    await give('paste', [image], field);
    await uploads.count(1);
    await dialog.getByRole('button', { name: 'Create issue' }).click();
    await dialog.getByText('Not sent: new.png is not uploaded yet.').waitFor();
    await uploads.release();
    await eventually(
      () => field.inputValue(),
      (text) => text.includes('attachment:'),
    );
    await dialog.getByRole('button', { name: 'Create issue' }).click();
    await page.locator('.description img[alt="new.png"]').waitFor();
    await page.keyboard.press('e');
    const description = page.getByRole('textbox', { name: 'Description' });
    await give('drop', [{ ...image, name: 'more.png' }], description);
    await eventually(
      () => description.inputValue(),
      (text) => /more\.png\]\(attachment:/.test(text),
    );
    await description.press('Control+Enter');
    await page.locator('.description img[alt="more.png"]').waitFor();
    await page.getByRole('region', { name: 'Files 2' }).waitFor();
  });
});

/** Answers uploads as the service does when it refuses them. */
const refuseUploads = (status: number, code: string, detail: string) =>
  page.route('**/app/api/v1/attachments/?**', (route) =>
    route.fulfill({ status, json: { code, detail }, contentType: 'application/problem+json' }),
  );

describe('an upload that fails', () => {
  it.each([
    [409, 'quota_exceeded', 'Your files of a day have 1 GiB.', 'Your files of a day have 1 GiB.'],
    [413, 'attachment_too_large', 'x', 'The file is larger than the server accepts.'],
    [503, 'storage_unavailable', 'The store does not respond.', 'The store does not respond.'],
  ])('says why, and is tried again: %i', async (status, code, detail, shown) => {
    await refuseUploads(status, code, detail);
    await give('paste', [{ name: `refused-${status}.png`, base64: png, type: 'image/png' }]);
    await rows().getByText(shown).waitFor();
    await page.unrouteAll();
    await rows()
      .getByRole('button', { name: /^Try again: / })
      .click();
    await rows().getByText('Uploaded').waitFor();
  });

  it('goes on by itself after the time that the server names', async () => {
    await page.route(
      '**/app/api/v1/attachments/?**',
      (route) =>
        route.fulfill({
          status: 429,
          headers: { 'Retry-After': '1' },
          json: { code: 'too_many_uploads', detail: 'Too many uploads.' },
          contentType: 'application/problem+json',
        }),
      { times: 1 },
    );
    await give('paste', [{ name: 'busy.png', base64: png, type: 'image/png' }]);
    await rows().getByText('Too many uploads.').waitFor();
    await rows().getByText('Uploaded').waitFor();
    expect(await uploaded('busy.png')).toBe(1);
  });

  it('goes on by itself when the server can be reached again', async () => {
    await page.context().setOffline(true);
    await give('paste', [{ name: 'offline.png', base64: png, type: 'image/png' }]);
    await rows().getByText('The server cannot be reached.').waitFor();
    await page.context().setOffline(false);
    await rows().getByText('Uploaded').waitFor();
    expect(await uploaded('offline.png')).toBe(1);
  });

  it('of which only the response is lost stores one file', async () => {
    await page.route('**/app/api/v1/attachments/?**', async (route) => {
      await route.fetch();
      await route.abort();
    });
    await give('paste', [{ name: 'lost.png', base64: png, type: 'image/png' }]);
    await rows().getByText('The server cannot be reached.').waitFor();
    await page.unrouteAll();
    await rows()
      .getByRole('button', { name: /^Try again: / })
      .click();
    await rows().getByText('Uploaded').waitFor();
    expect(await uploaded('lost.png')).toBe(1);
  });
});

/** Runs a script on the files that the browser keeps, `found`, and returns the names of those that it had before. */
async function onKept(script: string): Promise<unknown> {
  return page.evaluate(`(async () => {
    const open = (name) =>
      new Promise((resolve) => {
        const opening = indexedDB.open(name);
        opening.onsuccess = () => resolve(opening.result);
      });
    const databases = await Promise.all(['tessera-files', 'tessera'].map(open));
    const stores = () => databases.map((one) => one.transaction('drafts', 'readwrite').objectStore('drafts'));
    const found = await new Promise((resolve) => {
      const reading = stores()[0].getAll();
      reading.onsuccess = () => resolve(reading.result);
    });
    const [store, drafts] = stores();
    ${script}
    await Promise.all([store, drafts].map(({ transaction }) => new Promise((done) => {
      transaction.oncomplete = done;
      transaction.commit();
    })));
    for (const one of databases) one.close();
    return found.map(({ name }) => name).sort();
  })()`);
}

describe('the bytes', () => {
  it('survive a reload in the middle', async () => {
    const uploads = await holdUploads();
    await comment().fill('Before the reload ');
    await give('paste', [{ name: 'reload.png', base64: png, type: 'image/png' }]);
    await uploads.count(1);
    await page.getByText('Draft saved').waitFor();
    await page.reload();
    await uploads.count(2);
    const [first, again] = uploads.keys();
    expect(again).toBe(first);
    await uploads.release();
    await row('reload.png').getByText('Uploaded').waitFor();
    await eventually(
      () => comment().inputValue(),
      (text) => text.includes('attachment:'),
    );
    await comment().press('Control+Enter');
    await page.locator('.comment img[alt="reload.png"]').waitFor();
    expect(await uploaded('reload.png')).toBe(1);
  });

  it('are kept up to 100 MiB, and no longer than 7 days', async () => {
    await onKept('store.clear();');
    const uploads = await holdUploads();
    await give('paste', [{ name: 'first.png', base64: png, type: 'image/png' }]);
    await uploads.count(1);
    // Other files of the person, of which only the sizes and times count. A draft names the first two.
    const [old, large, unnamed, recent] = ['old', 'large', 'unnamed', 'recent'] as const;
    const day = 24 * 3_600_000;
    await onKept(`
      const { scope } = found[0];
      const put = (id, age, size) =>
        store.put({ scope, id, name: id, size, at: Date.now() - age, isReady: true, bytes: { size } }, [scope, id]);
      put('${old}', ${7 * day + 60_000}, ${90 * 1024 ** 2});
      put('${large}', ${7 * day - 3_600_000}, ${100 * 1024 ** 2 - 10_000});
      put('${unnamed}', 11 * 60_000, ${90 * 1024 ** 2});
      put('${recent}', 0, 1000);
      drafts.put({ text: '${old} ${large}', base: '', version: 0, at: Date.now() }, [scope.split('/')[0] + '/other', 'other']);`);
    const fileOf = (name: string, size: number) => ({ name, base64: Buffer.alloc(size).toString('base64') });
    await give('paste', [fileOf('small.bin', 5_000)]);
    await uploads.count(2);
    await give('paste', [fileOf('more.bin', 5_000)]);
    await row('more.bin').getByText('This browser keeps 100 MiB of files that are not uploaded.').waitFor();
    expect(await onKept('')).toEqual(['first.png', 'large', 'recent', 'small.bin']);
    await onKept(`
      const one = found.find(({ name }) => name === '${large}');
      store.put({ ...one, at: one.at - ${day} }, [one.scope, one.id]);`);
    await page.getByRole('button', { name: 'Try again: more.bin' }).click();
    await uploads.count(3);
    expect(await onKept('')).toEqual(['first.png', 'more.bin', 'recent', 'small.bin']);
    await uploads.release();
    await rows().filter({ hasText: 'Uploaded' }).nth(2).waitFor();
    await onKept(`
      store.delete([found[0].scope, '${recent}']);
      drafts.clear();`);
  });

  it('wait for the sign-in when the session ends in the middle', async () => {
    const uploads = await holdUploads();
    await give('paste', [{ name: 'session.png', base64: png, type: 'image/png' }]);
    await uploads.count(1);
    await web.sql('issues', 'DELETE FROM web_sessions');
    await uploads.release();
    const dialog = page.getByRole('dialog', { name: 'Your session has ended' });
    await dialog.getByLabel('Password').fill(password);
    await dialog.getByRole('button', { name: 'Sign in' }).click();
    await row('session.png').getByText('Uploaded').waitFor();
    expect(await uploaded('session.png')).toBe(1);
  });

  it('are uploaded by one of two tabs that have the same draft', async () => {
    const uploads = await holdUploads();
    await give('paste', [{ name: 'tabs.png', base64: png, type: 'image/png' }]);
    await uploads.count(1);
    await page.getByText('Draft saved').waitFor();
    await page.unrouteAll({ behavior: 'ignoreErrors' });
    await page.goto('about:blank');
    const other = await page.context().newPage();
    let sent = 0;
    for (const tab of [page, other])
      tab.on('request', (request) => {
        if (request.url().includes('/attachments/?')) sent += 1;
      });
    const held = await holdUploads(other);
    await openIssue(other);
    await held.count(1);
    // The first tab has the draft again.
    await openIssue(page);
    await page.getByText('Draft restored').waitFor();
    await row('tabs.png').getByText('Waiting').waitFor();
    await held.release();
    for (const tab of [other, page]) await row('tabs.png', tab).getByText('Uploaded').waitFor();
    expect(sent).toBe(1);
    expect(await uploaded('tabs.png')).toBe(1);
    await other.close();
  });
});

/**
 * Draws a photo, 40 × 20 pixels with a red left half, and writes into it that it is to be turned right, and where it was taken.
 * @param before bytes before the segment with this data
 */
async function takePhoto(before: readonly number[] = []): Promise<Buffer> {
  const drawn = (await page.evaluate(`(() => {
    const canvas = document.createElement('canvas');
    [canvas.width, canvas.height] = [40, 20];
    const context = canvas.getContext('2d');
    context.fillStyle = 'blue';
    context.fillRect(0, 0, 40, 20);
    context.fillStyle = 'red';
    context.fillRect(0, 0, 20, 20);
    return canvas.toDataURL('image/jpeg').split(',')[1];
  })()`)) as string;
  // TIFF 6.0: the orientation 6 and a GPS directory with the latitude N, which Exif 2.32 puts into the segment APP1.
  const tiff =
    '4d4d002a00000008' + '0002' + '011200030000000100060000' + '8825000400000001' + '00000026' + '00000000';
  const gps = '0001' + '0001000200000002' + '4e000000' + '00000000';
  const exif = Buffer.concat([Buffer.from('Exif\0\0'), Buffer.from(tiff + gps, 'hex')]);
  const head = Buffer.from([0xff, 0xd8, ...before, 0xff, 0xe1, 0, exif.length + 2]);
  return Buffer.concat([head, exif, Buffer.from(drawn, 'base64').subarray(2)]);
}

describe('a photo of a phone', () => {
  it.each([
    ['', []],
    [', also behind a marker without a length (TEM)', [0xff, 0x01]],
    [', also behind a marker without a length (RST)', [0xff, 0xd7]],
  ])('is turned as it is to be seen, and loses its position%s', async (_case, before) => {
    const photo = await takePhoto(before);
    expect(photo.includes('Exif')).toBe(true);
    await give('paste', [{ name: 'photo.jpg', base64: photo.toString('base64'), type: 'image/jpeg' }]);
    await row('photo.jpg').getByText('Uploaded').waitFor();
    await comment().press('Control+Enter');
    await page.locator('.comment img').waitFor();
    const [stored] = await ada.api.attachments(key);
    expect(stored).toMatchObject({ name: 'photo.jpg', media_type: 'image/jpeg', width: 20, height: 40 });
    const bytes = Buffer.from(await (await ada.api.download(stored?.id ?? '')).arrayBuffer());
    expect(bytes.subarray(0, 2).toString('hex')).toBe('ffd8');
    expect(bytes.includes('Exif')).toBe(false);
    // The left half is on top.
    const top = await page.evaluate(`(async () => {
      const picture = document.querySelector('.comment img');
      await picture.decode();
      const canvas = document.createElement('canvas');
      const context = canvas.getContext('2d', { willReadFrequently: true });
      context.drawImage(picture, 0, 0);
      return [5, 35].map((y) => [...context.getImageData(10, y, 1, 1).data].map((one) => (one > 128 ? 1 : 0)).join(''));
    })()`);
    expect(top).toEqual(['1001', '0011']);
  });

  it('is sent with its position only if the user says so', async () => {
    const photos = {
      'broken.jpg': (await takePhoto()).subarray(0, 120),
      // Browsers skip the zero and the 68, which a reader that takes them for a length would follow behind the position.
      'hidden.jpg': await takePhoto([0xff, 0x01, 0, 68]),
    };
    for (const [name, photo] of Object.entries(photos)) {
      await give('drop', [{ name, base64: photo.toString('base64'), type: 'image/jpeg' }]);
      await row(name).getByText('could not be removed from it').waitFor();
      expect(await uploaded(name)).toBe(0);
    }
    await page.getByRole('button', { name: 'Send as it is: broken.jpg' }).click();
    await row('broken.jpg').getByText('Uploaded').waitFor();
    expect(await uploaded('broken.jpg')).toBe(1);
  });
});

describe('hostile files', () => {
  const script = '<script>ran()</script>';
  // Its width is the start of a comment, 10,799 pixels, and its frame is in the comment.
  const polyglot = Buffer.concat([
    Buffer.from('GIF89a/*'),
    Buffer.from([1, 0, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0]),
    Buffer.from('*/=1;ran()'),
  ]);
  const hostile: Record<string, Uint8Array<ArrayBuffer>> = {
    'page.html': Buffer.from(`<!doctype html>${script}<img src=x onerror=ran()>`),
    'page.png': Buffer.from(`<html>${script}`),
    'drawing.svg': Buffer.from(`<svg xmlns="http://www.w3.org/2000/svg" onload="ran()">${script}</svg>`),
    'polyglot.gif': polyglot,
    'code.js': Buffer.from('ran()'),
  };

  it('run nothing, opened directly, as pictures and as scripts', async () => {
    const { page: tab, close } = await web.open({ bypassCSP: true });
    const ran: unknown[] = [];
    await tab.context().exposeFunction('ran', () => ran.push(tab.url()));
    await signIn(tab, ada);
    const files = await Promise.all(
      Object.entries(hostile).map(([name, bytes]) => ada.api.upload(name, bytes, { issue: key })),
    );
    await ada.api.addComment(
      key,
      files.map(({ id }) => `![x](attachment:${id}) [y](ATTACHMENT:${id}?a=1)`).join('\n\n'),
    );
    await tab.goto(`/issues/${key}`);
    await tab.locator('.comment a').nth(9).waitFor();
    expect(await tab.locator('.comment img').count()).toBe(1);
    for (const { id } of files) {
      const url = `/app/api/v1/attachments/${id}/content/`;
      const asScript = (await tab.evaluate(`new Promise((resolve) => {
        const script = document.createElement('script');
        script.onload = () => resolve('loaded');
        script.onerror = () => resolve('refused');
        script.src = ${JSON.stringify(url)};
        document.body.append(script);
        const frame = document.createElement('iframe');
        frame.src = script.src;
        document.body.append(frame);
        document.body.append(Object.assign(new Image(), { src: script.src }));
      })`)) as string;
      expect([url, asScript]).toEqual([url, 'refused']);
    }
    for (const { id, media_type: type } of files) {
      const direct = await tab.context().newPage();
      const saved = type === 'application/octet-stream' ? direct.waitForEvent('download') : undefined;
      // A download has no page.
      await direct.goto(`/app/api/v1/attachments/${id}/content/`).catch(() => undefined);
      await saved;
      await direct.close();
    }
    expect(ran).toEqual([]);
    await close();
  });

  it('have names that are texts, in their own order', async () => {
    const name = '\u202egpj."><img src=x onerror=ran()>[x](y)\n.html';
    await give('drop', [{ name, base64: Buffer.from('x').toString('base64') }]);
    const shown = name.replace(/[\u202e\n]/g, '');
    await row(shown).getByText('Uploaded').waitFor();
    await comment().press('Control+Enter');
    await page.locator('.comment .markdown').getByText(shown).waitFor();
    const files = page.getByRole('region', { name: 'Files 1' });
    await files.getByRole('link', { name: shown, exact: true }).waitFor();
    expect(await page.locator('.comment .markdown img, .files img').count()).toBe(0);
    const saved = page.waitForEvent('download');
    await files.getByRole('link').click();
    expect((await saved).suggestedFilename()).not.toContain('\u202e');
  });
});

describe('the page', () => {
  it('keeps its layout while pictures are loaded, and shows a high picture at a bounded height', async () => {
    const bytes = Buffer.from(
      (await page.evaluate(`(() => {
        const canvas = document.createElement('canvas');
        [canvas.width, canvas.height] = [300, 900];
        canvas.getContext('2d').fillRect(0, 0, 300, 900);
        return canvas.toDataURL().split(',')[1];
      })()`)) as string,
      'base64',
    );
    const { markdown } = await ada.api.upload('high.png', bytes);
    await ada.api.update(key, { description: `${markdown}\n\n![gone](attachment:${crypto.randomUUID()})` });
    let release = () => {};
    const released = new Promise<void>((resolve) => {
      release = resolve;
    });
    await page.route('**/content/', async (route) => {
      await released;
      await route.continue();
    });
    await page.reload();
    const picture = page.locator('.description img');
    await picture.waitFor();
    const before = await picture.boundingBox();
    release();
    await page.evaluate(`document.querySelector('.description img').decode()`);
    expect(await picture.boundingBox()).toEqual(before);
    expect(before).toMatchObject({ width: 160, height: 480 });
    await page.getByText('gone (file not found)').waitFor();
    await page.unrouteAll();
  });

  it.each([1280, 320])('is accessible with rows of files, %i pixels wide', async (width) => {
    const { page: tab, close } = await web.open({ bypassCSP: true, viewport: { width, height: 800 } });
    await signIn(tab, ada, `/issues/${key}`);
    await give('paste', [{ name: 'done.png', base64: png, type: 'image/png' }], comment(tab));
    await row('done.png', tab).getByText('Uploaded').waitFor();
    const uploads = await holdUploads(tab);
    await give('paste', [{ name: 'long-name-'.repeat(12), base64: png, type: 'image/png' }], comment(tab));
    await uploads.count(1);
    await tab.context().setOffline(true);
    await give('paste', [{ name: 'failed.png', base64: png, type: 'image/png' }], comment(tab));
    await uploads.count(2);
    await uploads.held[1]?.abort();
    await row('failed.png', tab).getByText('The server cannot be reached.').waitFor();
    expect(await pageProblems(tab)).toEqual([]);
    await close();
  });
});

describe('the browser', () => {
  it('forgets the bytes when the person signs out', async () => {
    await refuseUploads(503, 'storage_unavailable', 'Not now.');
    await give('paste', [{ name: 'private.png', base64: png, type: 'image/png' }]);
    await rows().getByText('Not now.').waitFor();
    const count = () =>
      page.evaluate(`new Promise((resolve) => {
        const opening = indexedDB.open('tessera-files');
        opening.onsuccess = () => {
          const reading = opening.result.transaction('drafts').objectStore('drafts').count();
          reading.onsuccess = () => resolve(reading.result);
        };
      })`);
    expect(await count()).toBeGreaterThan(0);
    await page.unrouteAll();
    await page.keyboard.press('Escape');
    await page.getByLabel('Account of Ada Lovelace').click();
    await page.getByRole('button', { name: 'Sign out' }).dispatchEvent('click');
    await page.waitForURL('**/sign-in');
    expect(await count()).toBe(0);
    await signIn(page, ada);
  });
});
