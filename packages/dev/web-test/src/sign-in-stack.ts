import { randomUUID } from 'node:crypto';
import { patientLimits, startStack } from '@tessera/stack';
import { launchBrowser, openPage, type Page } from '@tessera/testing/browser';
import { type RelyingParty, startRelyingParty } from './relying-parties/relying-party.ts';

export type SignInStack = Awaited<ReturnType<typeof openSignInStack>>;

/** The built identity service with its pages, PostgreSQL, a browser, and applications that sign in by it. */
export async function openSignInStack() {
  const stack = await startStack({
    replicas: { issues: 0 },
    environment: { identity: { ...patientLimits, HOSTED_SIGN_IN: 'on' } },
  });
  const browser = await launchBrowser().catch(async (error: unknown) => {
    await stack.stop();
    throw error;
  });
  const apps: { stop: () => Promise<void> }[] = [];
  const post = async (path: string, body: object) => {
    const { data, status } = await stack.internal.post(path, body);
    if (status !== 201) throw new Error(`${path} answered ${status}: ${JSON.stringify(data)}`);
    return data;
  };
  const issuer = `${stack.urls.identity}/oidc`;
  return {
    issuer,
    identityUrl: stack.urls.identity,
    createClient: (body: object) => post('/internal/clients', body),
    createPerson: async (details: object = {}) => {
      const person = { email: `ada-${randomUUID()}@example.com`, password: `password ${randomUUID()}` };
      await post('/internal/identities', { ...person, is_verified: true, ...details });
      return person;
    },
    startApp: async (library: RelyingParty) => {
      const app = await startRelyingParty(library, issuer, (body) => post('/internal/clients', body));
      apps.push(app);
      return app;
    },
    open: async (baseURL: string, options: Parameters<typeof openPage>[1] = {}) => {
      const opened = await openPage(browser, { baseURL, locale: 'en', ...options });
      opened.page.setDefaultTimeout(120_000);
      return opened;
    },
    fillIn: async (page: Page, email: string, password: string) => {
      await page.getByLabel('E-mail').fill(email);
      await page.getByLabel('Password').fill(password);
      await page.getByRole('button', { name: 'Sign in' }).click();
    },
    stop: async () => {
      const closing = await Promise.allSettled([browser.close(), ...apps.map((app) => app.stop())]);
      const codes = await stack.stop();
      for (const one of closing) if (one.status === 'rejected') throw one.reason;
      return codes;
    },
  };
}
