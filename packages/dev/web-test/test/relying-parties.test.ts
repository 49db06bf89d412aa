import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { authJs } from '../src/relying-parties/auth-js.ts';
import {
  authlib,
  canRunDebianApps,
  goOidc,
  modAuthOpenidc,
} from '../src/relying-parties/debian/debian-apps.ts';
import { expressOpenidConnect } from '../src/relying-parties/express-openid-connect.ts';
import { openidClient5 } from '../src/relying-parties/openid-client-5.ts';
import { openidClient6 } from '../src/relying-parties/openid-client-6.ts';
import { openSignInStack, type SignInStack } from '../src/sign-in-stack.ts';

// packages/dev/web-test/install-applications.sh installs them. CI runs the script and fails without them.
const canRunAll = canRunDebianApps();
if (!canRunAll && process.env.REQUIRE_APPLICATIONS === '1')
  throw new Error('REQUIRE_APPLICATIONS is set, and the applications of Debian are missing');
const ofDebian = canRunAll ? [modAuthOpenidc, authlib, goOidc] : [];

let stack: SignInStack;
beforeAll(async () => {
  stack = await openSignInStack();
});
afterAll(async () => {
  expect(await stack?.stop()).toEqual([0]);
});

it.each([openidClient6, openidClient5, expressOpenidConnect, authJs, ...ofDebian])(
  '$name signs a person in, reads who it is, refreshes and signs out',
  async (library) => {
    const app = await stack.startApp(library);
    const { email, password } = await stack.createPerson();
    const { page, problems, close } = await stack.open(app.baseUrl);
    const start = async (path: string, button: string | undefined) => {
      await page.goto(path);
      if (button !== undefined) await page.getByRole('button', { name: button }).click();
    };
    const passed = [library.signInPath, library.signOutPath];
    const waitForApp = async () => {
      await page.waitForURL((url) => url.origin === app.baseUrl && !passed.includes(url.pathname));
      // An application shows an exception of the library.
      expect(await page.locator('body').textContent()).not.toMatch(/Error/);
    };
    const readJson = async (path: string) => JSON.parse((await (await page.goto(path))?.text()) ?? '');

    await start(library.signInPath, library.signInButton);
    await page.getByText('to continue to Helpdesk').waitFor();
    await stack.fillIn(page, email, password);
    await waitForApp();
    expect(await readJson('/user')).toMatchObject({ email });

    if (library.refreshes) {
      const [first, second] = [await readJson('/refresh'), await readJson('/refresh')];
      expect([typeof first.access_token, typeof second.access_token]).toEqual(['string', 'string']);
      expect(second.access_token).not.toBe(first.access_token);
      expect(await readJson('/user')).toMatchObject({ email });
    }

    // The browser is signed in at the service, so the next sign-in asks for nothing.
    await start(library.signInPath, library.signInButton);
    await waitForApp();
    expect(await readJson('/user')).toMatchObject({ email });

    await start(library.signOutPath, library.signOutButton);
    await waitForApp();
    expect((await readJson('/user')).email).toBeUndefined();
    await start(library.signInPath, library.signInButton);
    if (library.signsOutEverywhere) await page.getByLabel('Password').waitFor();
    else {
      await waitForApp();
      expect(await readJson('/user')).toMatchObject({ email });
    }
    expect(problems.filter((problem) => problem.startsWith('policy'))).toEqual([]);
    await close();
  },
);
