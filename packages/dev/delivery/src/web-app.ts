import { HttpBrowser, ofOwnPage } from './http-browser.ts';

interface WebAppOptions {
  issuesUrl: string;
  identityUrl: string;
  serviceToken: string;
  /** The origin of `PUBLIC_BASE_URL`. */
  origin: string;
}

/** The policy of every page, wherever the service runs. No variable or annotation changes it. */
export const pagePolicy =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; font-src 'self'; " +
  "base-uri 'none'; form-action 'self'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types dompurify";

/** Reads a page of the web app and its files, signs in as a browser does and reads the user. @throws if any of it fails */
export async function visitWebApp({ issuesUrl, origin, ...identity }: WebAppOptions): Promise<void> {
  const page = await fetch(`${issuesUrl}/issues`, { headers: { Accept: 'text/html' } });
  expectEqual('status of the page', page.status, 200);
  expectEqual('policy of the page', page.headers.get('Content-Security-Policy'), pagePolicy);
  const files = [...(await page.text()).matchAll(/"(\/assets\/[^"]+)"/g)].map(([, path = '']) => path);
  if (!files.some((path) => path.endsWith('.js'))) throw new Error(`The page names no script: ${files}`);
  for (const path of files) expectEqual(path, (await fetch(`${issuesUrl}${path}`)).status, 200);

  const account = { email: `web-app-${Date.now()}@example.com`, password: 'a lighthouse made of salt' };
  const json = { 'Content-Type': 'application/json' };
  const created = await fetch(`${identity.identityUrl}/internal/identities`, {
    method: 'POST',
    headers: { ...json, 'X-Service-Token': identity.serviceToken },
    body: JSON.stringify(account),
  });
  expectEqual('status of the new identity', created.status, 201);
  const discovery = await fetch(`${identity.identityUrl}/.well-known/openid-configuration`);
  const { issuer } = (await discovery.json()) as { issuer: string };
  const places = { [origin]: issuesUrl, [issuer]: identity.identityUrl };
  const browser = new HttpBrowser({ places });
  const user = await signInToWebApp(browser, origin, account);
  if (user === undefined) throw new Error('The password is refused.');
  const read = await browser.get(`${origin}/app/api/v1/users/me/`, {
    ...ofOwnPage,
    'X-Tessera-User': user.id,
  });
  expectEqual('user of the session', JSON.parse(read.text).email, account.email);
}

interface SignIn {
  email: string;
  password: string;
  /** Replaces a temporary password, if the sign-in asks for another one. */
  newPassword?: string | undefined;
}

/**
 * Signs in to the web app, with its form or on the page of identity.
 * @returns the user, or undefined if the password is refused or another one is asked for
 */
export async function signInToWebApp(
  browser: HttpBrowser,
  origin: string,
  { email, password, newPassword }: SignIn,
): Promise<{ id: string; is_staff?: boolean; is_superuser?: boolean } | undefined> {
  const readSession = async () => JSON.parse((await browser.get(`${origin}/app/session`, ofOwnPage)).text);
  if ((await readSession()).sign_in === 'hosted') {
    let page = await browser.follow(await browser.get(`${origin}/app/oidc/sign-in`));
    page = await browser.follow(await browser.submit(page, { email, password }));
    if (newPassword !== undefined && page.text.includes('name="new_password"'))
      await browser.follow(await browser.submit(page, { email, password, new_password: newPassword }));
  } else {
    const more = newPassword === undefined ? {} : { new_password: newPassword };
    await browser.post(`${origin}/app/session`, { email, password, ...more });
  }
  return (await readSession()).user ?? undefined;
}

function expectEqual(name: string, value: unknown, expected: unknown): void {
  if (value !== expected) throw new Error(`The ${name} is ${String(value)}, not ${String(expected)}.`);
}
