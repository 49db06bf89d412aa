import type { Page } from './web.ts';

/** Takes pictures of what is seldom on the screen: nothing, a selection, groups, views, and dialogs over a list. */
export async function takeStates(
  page: Page,
  take: (name: string) => Promise<unknown>,
  key: string,
): Promise<void> {
  const dialog = page.getByRole('dialog');
  const takeDialog = async (name: string, ...keys: string[]) => {
    for (const one of keys) await page.keyboard.press(one);
    await dialog.waitFor();
    await take(name);
    await page.keyboard.press('Escape');
    await dialog.waitFor({ state: 'detached' });
  };
  await page.goto('/issues?label=billing');
  await page.locator(`#issue-${key}`).waitFor();
  await take('list-label');
  await takeDialog('view', 'v');
  await page.goto('/issues?q=nothing+has+this');
  await page.getByText('No issue matches these filters.').waitFor();
  await take('list-nothing');
  await page.goto('/issues');
  await page.getByLabel('Groups').selectOption('status');
  await page.locator('.group-head').first().waitFor();
  await take('list-groups');
  await page.getByLabel('Groups').selectOption('none');
  await page.getByRole('button', { name: /^More/ }).click();
  await dialog.waitFor();
  await takeDialog('further-filters');
  await page.locator(`#issue-${key}`).focus();
  await takeDialog('choose-status', 's');
  await takeDialog('choose-due', 'd');
  await takeDialog('choose-labels', 'l');
  await page.keyboard.press('x');
  await page.getByText('1 selected').waitFor();
  await take('selection');
  await page.keyboard.press('Escape');
  await page.goto('/board');
  await page.locator('.card').nth(5).waitFor();
  await page.keyboard.press('j');
  await takeDialog('board-peek', 'Space');
  await page.goto(`/issues/${key}`);
  await page.getByText('1 of 3 done').waitFor();
  await page.keyboard.press('M');
  await page.keyboard.press('P');
  await page.getByRole('combobox', { name: 'Search: Issue' }).fill('7');
  await page
    .getByRole('listbox', { name: 'Issue' })
    .getByRole('option', { name: /^ISS-7 / })
    .click();
  await page.getByRole('dialog', { name: 'Another parent' }).waitFor();
  await takeDialog('other-parent');
  for (const [name, path] of [
    ['inbox-nothing', '/inbox?view=snoozed'],
    ['labels', '/settings/labels'],
    ['no-page', '/no-such-page'],
    ['no-issue', '/issues/ISS-99999'],
  ] as const) {
    await page.goto(path);
    await page.getByRole('heading').first().waitFor();
    await take(name);
  }
}
