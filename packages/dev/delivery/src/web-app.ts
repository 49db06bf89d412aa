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
  const signedIn = await fetch(`${issuesUrl}/app/session`, {
    method: 'POST',
    headers: { ...json, 'X-Tessera-App': '1', Origin: origin },
    body: JSON.stringify(account),
  });
  expectEqual('status of the sign-in', signedIn.status, 200);
  const [cookie = ''] = signedIn.headers.getSetCookie().map((header) => header.split(';')[0]);
  const { user } = (await signedIn.json()) as { user: { id: string } };
  const read = await fetch(`${issuesUrl}/app/api/v1/users/me/`, {
    headers: { Cookie: cookie, 'X-Tessera-User': user.id },
  });
  const { email } = (await read.json()) as { email?: string };
  expectEqual('user of the session', email, account.email);
}

function expectEqual(name: string, value: unknown, expected: unknown): void {
  if (value !== expected) throw new Error(`The ${name} is ${String(value)}, not ${String(expected)}.`);
}
