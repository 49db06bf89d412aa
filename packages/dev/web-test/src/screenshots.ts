import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { startGitLab } from '@tessera/trackers/fakes';
import { fillExamples, relateExamples } from './examples.ts';
import { startReceiver } from './receiver.ts';
import { takeStates } from './screenshot-states.ts';
import { gitLabVariables, type Page, type Person, password, startWeb } from './web.ts';

const folder = process.argv[2] ?? '.data/screenshots';
const widths = [1440, 768, 375];
const themes = ['light', 'dark'] as const;

mkdirSync(folder, { recursive: true });
const project = 'acme/website';
const tracker = await startGitLab({ project });
const receiver = await startReceiver('{"error": "The queue is full."}');
const web = await startWeb({
  identity: { HOSTED_SIGN_IN: 'on' },
  issues: {
    ...gitLabVariables(tracker, project),
    SIGN_IN: 'hosted',
    WEBHOOK_ALLOW_HTTP: 'on',
    WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8',
  },
});

/** A project that not everyone reads, with members, an issue and a history. */
async function fillProjects({ ada, bob }: { ada: Person; bob: Person }): Promise<string> {
  await ada.api.createProject({ key: 'OPS', name: 'Operations' });
  await ada.api.createProject({ key: 'ACME', name: 'The portal of Acme', visibility: 'reporters' });
  await ada.api.putProjectMember('OPS', bob.id, 'viewer');
  await ada.api.putProjectMember('OPS', bob.id, 'member');
  await ada.api.updateProject('OPS', { name: 'Operations and on-call' });
  const { key } = await ada.api.create({ title: 'The pager is silent at night', project: 'OPS' });
  return key;
}

/** Both sides of the issue change its title. A webhook fails once. */
async function fillSettings({ api }: Person, key: string): Promise<void> {
  await api.sync(key);
  const { title } = await api.get(key);
  for (const { number } of tracker.issues())
    tracker.editIssue(number, { title: 'Invoices have no address on the second page' });
  await api.update(key, { title: `${title} in France` });
  await api.sync(key);
  await api.update(key, { title });
  receiver.statuses.push(500);
  const { id } = await api.createWebhook({
    url: receiver.url,
    description: 'The chat of the support team',
    types: ['issue.created', 'issue.status_changed', 'issue.commented'],
  });
  await api.testWebhook(id);
  await receiver.receive('webhook.test');
  const { key: created } = await api.create({ title: 'The gift card is not accepted' });
  await receiver.receive(created);
  await api.createWebhook({ url: 'https://hooks.example/tessera', enabled: false });
}

/** An application whose redirect URI differs from the registered one. */
async function registerApplications(): Promise<void> {
  const redirect_uris = ['https://wiki.example.com/callback'];
  const { data } = await web.stack.internal.post('/internal/clients', {
    name: 'Wiki',
    kind: 'confidential',
    redirect_uris,
  });
  const query = { client_id: data.client_id, redirect_uri: 'https://wiki.example.com/callback/' };
  await fetch(`${web.stack.urls.identity}/oidc/authorize?${new URLSearchParams(query)}`);
  await web.stack.internal.post('/internal/clients', { name: 'Phone', kind: 'public', redirect_uris });
}

try {
  const { ada, bob, key } = await fillExamples(web, 60);
  await relateExamples(ada, key);
  await fillSettings(ada, key);
  await registerApplications();
  const restricted = await fillProjects({ ada, bob });
  for (const colorScheme of themes) {
    for (const width of widths) {
      const { page, problems, close } = await web.open({
        colorScheme,
        reducedMotion: 'reduce',
        viewport: { width, height: 900 },
      });
      const take = (name: string, shown: Page = page) =>
        shown.screenshot({ path: join(folder, `${name}-${width}-${colorScheme}.png`) });
      await page.goto('/sign-in');
      await page.getByRole('button', { name: 'Sign in' }).waitFor();
      await take('sign-in');
      const german = await web.open({ locale: 'de', colorScheme, viewport: { width, height: 900 } });
      for (const [shown, name] of [
        [german.page, 'identity-de'],
        [page, 'identity'],
      ] as const) {
        await shown.goto('/sign-in');
        await shown.getByRole('button', { name: 'Sign in' }).click();
        await shown.getByLabel(/^E-?mail/i).fill(ada.email);
        await take(name, shown);
      }
      await german.close();
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
      await page.getByRole('row').nth(5).waitFor();
      await take('list');
      await page.getByRole('button', { name: /^Priority/ }).click();
      await page.getByRole('listbox').getByRole('option').first().waitFor();
      await take('list-filter');
      await page.keyboard.press('Escape');
      await page.getByRole('link', { name: 'Invoices are printed without' }).focus();
      await page.keyboard.press('Space');
      await page.getByRole('dialog', { name: key }).locator('.markdown ul').waitFor();
      await take('peek');
      await page.keyboard.press('Escape');
      await page.goto(`/issues/${key}`);
      await page.getByText('The queue was full').waitFor();
      await page.locator('.markdown ul').first().waitFor();
      await page.getByText('1 of 3 done').waitFor();
      await take('issue');
      await page.getByRole('region', { name: 'Relations' }).scrollIntoViewIfNeeded();
      await take('relations');
      await page.getByRole('button', { name: 'Add a relation' }).click();
      await page.getByRole('combobox', { name: 'Search: Issue' }).fill('invoices');
      await page.getByRole('listbox', { name: 'Issue' }).getByRole('option').first().waitFor();
      await take('relation');
      await page.keyboard.press('Escape');
      await page.getByRole('region', { name: 'Conflict of the title' }).scrollIntoViewIfNeeded();
      await take('sync');
      await page.getByRole('button', { name: 'New issue' }).click();
      await page.getByRole('dialog').getByLabel('Title').waitFor();
      await take('create');
      await page.goto('/inbox');
      await page.locator('.note').first().waitFor();
      await take('inbox');
      await page.goto('/my');
      await page.getByRole('row').nth(2).waitFor();
      await take('my');
      if (width < 768) {
        await page.getByRole('button', { name: 'Menu' }).click();
        await page.getByRole('dialog', { name: 'Menu' }).waitFor();
        await take('sheet');
        await page.keyboard.press('Escape');
      }
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
      for (const [section, text] of [
        ['account', 'Display name'],
        ['sessions', 'This browser'],
        ['users', 'bob@example.com'],
        ['applications', 'Wiki'],
        ['webhooks', 'hooks.example'],
        ['tracker', 'Reachable'],
      ] as const) {
        await page.goto(`/settings/${section}`);
        await page.locator('.settings-content').getByText(text).first().waitFor();
        await take(section);
      }
      await page.goto('/settings/users');
      await page.getByRole('button', { name: 'New user' }).click();
      await page.getByRole('dialog', { name: 'New user' }).waitFor();
      await take('user');
      await page.goto('/settings/applications');
      await page.getByRole('button', { name: 'New application' }).click();
      await page.getByRole('dialog', { name: 'New application' }).waitFor();
      await take('application');
      await page.goto('/settings/webhooks');
      const webhook = page.getByRole('listitem').filter({ hasText: 'The chat of the support team' });
      await webhook.getByText('Deliveries', { exact: true }).click();
      await webhook.locator('.deliveries li summary').last().click();
      await page.getByText('"type"').waitFor();
      await take('deliveries');
      await page.goto('/settings/projects');
      await page.getByRole('link', { name: 'Operations and on-call', exact: true }).last().waitFor();
      await take('projects');
      await page.getByRole('button', { name: 'New project' }).click();
      await page.getByRole('dialog', { name: 'New project' }).waitFor();
      await take('new-project');
      await page.goto('/settings/projects?project=OPS');
      await page.getByText('created the project').waitFor();
      await page.getByRole('list', { name: 'Members' }).getByRole('listitem').nth(1).waitFor();
      await page.screenshot({ path: join(folder, `project-${width}-${colorScheme}.png`), fullPage: true });
      await page.goto(`/issues/${restricted}`);
      await page.getByRole('button', { name: 'Move to project…' }).click();
      await page.getByRole('option', { name: /^ISS/ }).click();
      await page.getByRole('button', { name: 'Move to ISS' }).waitFor();
      await take('move');
      await page.keyboard.press('Escape');
      await page.goto('/issues');
      await page.getByRole('row').nth(5).waitFor();
      await page.keyboard.press('g');
      await page.keyboard.press('p');
      await page.getByRole('dialog', { name: 'Go to a project' }).waitFor();
      await take('switcher');
      await page.keyboard.press('Escape');
      await page.keyboard.press('c');
      await page.getByRole('button', { name: /^Project: / }).waitFor();
      await take('create-in-project');
      await page.keyboard.press('Escape');
      await takeStates(page, take, key);
      // Of the pages that do not exist, and of a second parent, after which the app asks.
      const unexpected = problems.filter((problem) => !/404|409/.test(problem));
      if (unexpected.length > 0) throw new Error(unexpected.join('\n'));
      await close();
    }
  }
  process.stdout.write(`The pictures are in ${folder}.\n`);
} finally {
  await web.stop();
  await tracker.close();
  receiver.close();
}
