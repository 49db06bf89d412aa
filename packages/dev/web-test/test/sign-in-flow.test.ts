import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '@tessera/stack/eventually';
import { accessibilityProblems } from '@tessera/testing/browser';
import { startOtherOrigin } from '../src/other-origin.ts';
import { openidClient6 } from '../src/relying-parties/openid-client-6.ts';
import { openSignInStack, type SignInStack } from '../src/sign-in-stack.ts';
import type { Page } from '../src/web.ts';

let stack: SignInStack;
let app: Awaited<ReturnType<SignInStack['startApp']>>;
let other: Awaited<ReturnType<typeof startOtherOrigin>>;
beforeAll(async () => {
  stack = await openSignInStack();
  app = await stack.startApp(openidClient6);
  other = await startOtherOrigin();
});
afterAll(async () => {
  other?.stop();
  expect(await stack?.stop()).toEqual([0]);
});

/** Opens the sign-in page, and returns the `state` of its request. */
async function start(page: Page, path = '/login'): Promise<string> {
  await page.goto(`${app.baseUrl}${path}`);
  return new URL(page.url()).searchParams.get('state') ?? '';
}

/** Waits until the person is back at the application, by the request with this `state`. */
async function expectReturn(page: Page, state: string, email: string): Promise<void> {
  // Not `waitForURL`, which ends with the navigation that a second click aborts.
  const back = `${app.baseUrl}/user?state=${encodeURIComponent(state)}`;
  await eventually(
    () => page.url(),
    (url) => url === back,
  );
  expect(JSON.parse((await page.locator('pre').textContent()) ?? '')).toMatchObject({ email });
}

const isOfPage = (problem: string) => /^(policy|exception)/.test(problem);

describe.each([true, false])('the request travels in the form, with scripts: %s', (javaScriptEnabled) => {
  const open = () => stack.open(app.baseUrl, { javaScriptEnabled });

  it('a wrong password, then the right one', async () => {
    const { email, password } = await stack.createPerson();
    const { page, problems, close } = await open();
    const state = await start(page);
    await stack.fillIn(page, email, 'a wrong password');
    await page.getByRole('alert').waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    expect(await page.getByLabel('Password').inputValue()).toBe('');
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await expectReturn(page, state, email);
    expect(problems.filter(isOfPage)).toEqual([]);
    await close();
  });

  it('two tabs return to their own requests, in any order', async () => {
    const { email, password } = await stack.createPerson();
    const { page: first, close } = await open();
    const second = await first.context().newPage();
    const states = [await start(first), await start(second)] as const;
    expect(states[0]).not.toBe(states[1]);
    await stack.fillIn(second, email, password);
    await expectReturn(second, states[1], email);
    await stack.fillIn(first, email, password);
    await expectReturn(first, states[0], email);
    await close();
  });

  it('cookies that are cleared while the page is open', async () => {
    const { email, password } = await stack.createPerson();
    const { page, close } = await open();
    const state = await start(page);
    await page.context().clearCookies({ domain: new URL(stack.identityUrl).hostname });
    await stack.fillIn(page, email, password);
    await expectReturn(page, state, email);
    await close();
  });

  it('the back button, before and after the sign-in', async () => {
    const { email, password } = await stack.createPerson();
    const { page, close } = await open();
    const state = await start(page);
    await stack.fillIn(page, email, 'a wrong password');
    await page.getByRole('alert').waitFor();
    await page.goBack();
    expect(await page.getByRole('alert').count()).toBe(0);
    await stack.fillIn(page, email, password);
    await expectReturn(page, state, email);
    // The request is answered again, by the session.
    await page.goBack();
    await page.waitForURL((url) => url.origin === app.baseUrl);
    await close();
  });

  it('the back button over pages that have refused a password', async () => {
    const { email, password } = await stack.createPerson();
    const { page, close } = await open();
    const state = await start(page);
    const alert = page.getByRole('alert');
    const refuse = async (typed: string) => {
      const answer = page.waitForResponse(`${stack.identityUrl}/sign-in`);
      await stack.fillIn(page, email, typed);
      expect((await answer).status()).toBe(422);
      await alert.waitFor();
    };
    await refuse('a wrong password');
    await refuse('another wrong password');
    await page.goBack();
    await alert.waitFor();
    expect(await page.getByLabel('E-mail').inputValue()).toBe(email);
    expect(await page.getByLabel('Password').inputValue()).toBe('');
    // From a page of another site, too.
    await page.goto(other.onAnotherSite);
    await page.goBack();
    await alert.waitFor();
    expect(page.url()).toBe(`${stack.identityUrl}/sign-in`);
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await expectReturn(page, state, email);
    // After the sign-in, and once more.
    await page.goBack();
    await alert.waitFor();
    await page.getByLabel('Password').fill(password);
    await page.keyboard.press('Enter');
    await page.waitForURL((url) => url.origin === app.baseUrl);
    expect(page.url()).toContain(encodeURIComponent(state));
    await close();
  });

  it('a form that is sent again', async () => {
    const { email, password } = await stack.createPerson();
    const { page, close } = await open();
    const state = await start(page);
    await stack.fillIn(page, email, 'a wrong password');
    await page.getByRole('alert').waitFor();
    await page.reload();
    await page.getByRole('alert').waitFor();
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).dblclick();
    await expectReturn(page, state, email);
    await close();
  });

  it('a temporary password is replaced on the way', async () => {
    const { email, password } = await stack.createPerson({ password_is_temporary: true });
    const { page, close } = await open();
    const state = await start(page);
    await stack.fillIn(page, email, password);
    await page.getByRole('heading', { name: 'Choose a new password' }).waitFor();
    expect(await page.content()).not.toContain(password);
    await page.getByLabel('Temporary password').fill(password);
    await page.getByLabel('New password').fill('short');
    await page.keyboard.press('Enter');
    await page.getByText('The new password is too short.').waitFor();
    await page.getByLabel('Temporary password').fill(password);
    await page.getByLabel('New password').fill('a password of her own');
    await page.keyboard.press('Enter');
    await expectReturn(page, state, email);
    await close();
  });
});

it('the application chooses the language, and the pages pass the rules of accessibility', async () => {
  const { page, close } = await stack.open(app.baseUrl, { bypassCSP: true });
  await start(page, '/login?ui_locales=de');
  await page.getByText('weiter zu Helpdesk').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await page.getByLabel('E-Mail').fill('nina@example.com');
  await page.getByLabel('Passwort').fill('falsch und lang');
  await page.keyboard.press('Enter');
  await page.getByText('E-Mail oder Passwort ist falsch.').waitFor();
  expect(await accessibilityProblems(page)).toEqual([]);
  await close();
});

it('a form of another site signs no one in', async () => {
  const { email, password } = await stack.createPerson();
  for (const url of [other.onAnotherPort, other.onAnotherSite]) {
    const { page, close } = await stack.open(url);
    await page.goto(url);
    const answer = page.waitForResponse(`${stack.identityUrl}/sign-in`);
    await page.evaluate(
      `(() => {
        const form = document.createElement('form');
        form.method = 'post';
        form.action = '${stack.identityUrl}/sign-in';
        for (const [name, value] of Object.entries(${JSON.stringify({ email, password })})) {
          const input = document.createElement('input');
          input.name = name;
          input.value = value;
          form.append(input);
        }
        document.body.append(form);
        form.submit();
      })()`,
    );
    expect((await answer).status()).toBe(403);
    await page.getByRole('heading', { name: 'This form came from another site' }).waitFor();
    expect(await page.context().cookies(stack.identityUrl)).toEqual([]);
    await close();
  }
});

it('a page that is loaded in advance is refused', async () => {
  const { page, close } = await stack.open(app.baseUrl);
  await start(page);
  const answer = await fetch(page.url(), { headers: { 'Sec-Purpose': 'prefetch' } });
  expect(answer.status).toBe(503);
  await close();
});

it('an address that is not registered gets nothing, and the page does not name it', async () => {
  const { page, close } = await stack.open(app.baseUrl);
  await start(page);
  const url = new URL(page.url());
  url.searchParams.set('redirect_uri', 'https://evil.example/callback');
  const answer = await page.goto(url.href);
  expect(answer?.status()).toBe(400);
  await page.getByRole('heading', { name: 'This sign-in cannot continue' }).waitFor();
  expect(await page.content()).not.toContain('evil.example');
  await close();
});
