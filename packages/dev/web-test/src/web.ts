import { randomBytes } from 'node:crypto';
import { IssuesClient, Session } from '@tessera/client/issues';
import { patientLimits, type StackOptions, startStack } from '@tessera/stack';
import {
  type Browser,
  launchBrowser,
  openPage,
  type Page,
  type Route,
  type WatchedPage,
} from '@tessera/testing/browser';
import type { FakeTracker } from '@tessera/trackers/fakes';

export const password = 'a password of the web tests';

/** The variables of issues for a fake GitLab. Its issues are synced on request only. */
export function gitLabVariables({ url, token }: Pick<FakeTracker, 'url' | 'token'>, project: string) {
  return {
    TRACKER_PROVIDER: 'gitlab',
    TRACKER_URL: url,
    TRACKER_PROJECT: project,
    TRACKER_TOKEN: token,
    TRACKER_ALLOW_HTTP: 'on',
    TRACKER_WRITE_INTERVAL_MS: '0',
    SYNC_WORKERS: '0',
  };
}

export type Web = Awaited<ReturnType<typeof startWeb>>;

/** A user with a client of the API. */
export interface Person {
  id: string;
  email: string;
  api: IssuesClient;
}

/** The built services with the web app, PostgreSQL and a browser. Of several replicas, only the first is started. */
export async function startWeb(
  environment: StackOptions['environment'] = {},
  { replicas }: Pick<StackOptions, 'replicas'> = {},
) {
  const webApp = { ...patientLimits, WEB_APP: 'on', SESSION_KEYS: randomBytes(32).toString('base64') };
  const [starting, launching] = await Promise.allSettled([
    startStack({
      environment: {
        identity: { ...patientLimits, ...environment.identity },
        issues: { ...webApp, ...environment.issues },
      },
      ...(replicas === undefined ? {} : { replicas, started: 1 }),
    }),
    launchBrowser(),
  ]);
  if (starting.status === 'rejected') {
    if (launching.status === 'fulfilled') await launching.value.close();
    throw starting.reason;
  }
  if (launching.status === 'rejected') {
    await starting.value.stop();
    throw launching.reason;
  }
  const { value: stack } = starting;
  const { value: browser } = launching;
  const { issues: issuesUrl, identity: identityUrl } = stack.urls;

  const createPerson = async (username: string, name: string, isStaff = false): Promise<Person> => {
    const email = `${username}@example.com`;
    const body = { email, username, display_name: name, password, is_verified: true, is_staff: isStaff };
    const { data, status } = await stack.internal.post('/internal/identities', body);
    if (status !== 201) throw new Error(`The identity was not created: ${JSON.stringify(data)}`);
    const token = await Session.signIn({ identityUrl, email, password });
    const api = new IssuesClient({ baseUrl: issuesUrl, token });
    return { id: data.id, email, api };
  };

  const open = async (options?: Parameters<typeof openPage>[1]) => {
    const opened = await openPage(browser, { baseURL: issuesUrl, ...options });
    opened.page.setDefaultTimeout(120_000);
    return opened;
  };
  const opened: WatchedPage[] = [];

  return {
    url: issuesUrl,
    browser,
    createPerson,
    sql: stack.sql,
    stack,
    open,
    /**
     * Opens a page of a signed-in person until `closePages`.
     * @param prepare is called before the page's first request
     */
    openAs: async (
      person: Person,
      path = '/issues',
      prepare?: (page: Page) => Promise<unknown>,
    ): Promise<Page> => {
      const watched = await open({ viewport: { width: 1440, height: 900 } });
      opened.push(watched);
      await prepare?.(watched.page);
      await signIn(watched.page, person, path);
      return watched.page;
    },
    /** Closes the pages of `openAs`. Each browser has a stream of events, of which an identity may have six. */
    closePages: async () => {
      await Promise.all(opened.map(({ close }) => close()));
    },
    /** The problems of all pages of `openAs`. Chromium reports every refused request. */
    problems: (expected = /^$/) =>
      opened.flatMap((page) => page.problems).filter((problem) => !expected.test(problem)),
    /** @returns the exit codes of the services */
    stop: async () => {
      let exitCodes: (number | null)[];
      // Services that keep running after a failure would keep Jest from exiting.
      try {
        await browser.close();
      } finally {
        exitCodes = await stack.stop();
      }
      return exitCodes;
    },
  };
}

/** Opens a path as a person, without the form, which is half of the work of a short test. */
export async function signIn(page: Page, { email }: Person, path = '/issues'): Promise<void> {
  const headers = { 'Sec-Fetch-Site': 'same-origin', 'X-Tessera-App': '1' };
  const response = await page.request.post('/app/session', { headers, data: { email, password } });
  if (!response.ok()) throw new Error(`${email} was not signed in: ${await response.text()}`);
  await page.goto(path);
  await page.locator('#content').waitFor({ state: 'attached' });
  // The shell listens for keys after it has been drawn.
  await page.evaluate('new Promise((drawn) => requestAnimationFrame(() => setTimeout(drawn)))');
}

/** Opens a path and signs in by its form. */
export async function signInByForm(page: Page, { email }: Person, path = '/issues'): Promise<void> {
  await page.goto(path);
  await page.getByLabel('E-mail').fill(email);
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.waitForURL((url) => url.pathname !== '/sign-in');
}

export type { Browser, Page, Route, WatchedPage };

/** Holds the page's changes of issues until the returned function is called. */
export async function holdChanges(page: Page): Promise<() => void> {
  let release = () => {};
  const released = new Promise<void>((resolve) => {
    release = resolve;
  });
  await page.route('**/app/api/v1/issues/**', async (route) => {
    if (route.request().method() !== 'GET') await released;
    await route.continue();
  });
  return release;
}
