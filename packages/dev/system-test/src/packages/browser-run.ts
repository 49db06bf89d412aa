import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual } from 'node:util';
import { IdentityClient } from '@tessera/client/identity';
import { startStack } from '@tessera/stack';
import { Colleague } from './colleague.ts';
import { bundleForBrowsers, installPackages, packPackages, run } from './installed-packages.ts';

const email = 'browser@example.com';
const password = 'a password of a consumer';
const resultTimeoutMs = 90_000;

/** The result of `consumer/browser.ts`. */
export const expectedResult = {
  preferred_username: 'browser',
  seen: ['IN_PROGRESS', 'RESOLVED'],
  history: ['created', 'status_changed', 'comment_added', 'status_changed', 'status_changed'],
  listed: ['From a page'],
};

/** Runs the bundle of `consumer/browser.ts` in Chromium against both services. @returns whether all results were expected */
export async function runInChromium(chromium: string): Promise<boolean> {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-browser-'));
  const pages = await startPages();
  const stack = await startStack({
    environment: { identity: { CORS_ORIGINS: pages.origin }, issues: { CORS_ORIGINS: pages.origin } },
  });
  try {
    process.stdout.write(`${(await run(chromium, ['--version'], folder)).trim()}\n`);
    const project = join(folder, 'project');
    await installPackages(project, await packPackages(folder));
    const bundleOf = async (contents: string) => (await bundleForBrowsers(project, contents)).code;
    const page = await bundleOf("export * from './browser.ts'");
    const { urls, serviceToken } = stack;
    const { id } = await new IdentityClient({ baseUrl: urls.identity, serviceToken }).create({
      email,
      password,
    });
    const colleague = await Colleague.signUp(stack);
    const input = JSON.stringify([urls.identity, urls.issues, email, password]);
    const work = `bundle.work(...${input})`;
    const open = (origin: string, code: string, expression: string) => {
      pages.serve(code, expression);
      return openPage(chromium, folder, `${origin}/`, pages.nextResult());
    };

    const [worked] = await Promise.all([open(pages.origin, page, work), colleague.resolveAfterComment(id)]);
    const refused = await open(pages.otherOrigin, page, work);
    const backend = await bundleOf("export { IdentityClient } from '@tessera/client/identity'");
    const withIdentity = await open(pages.origin, backend, 'typeof bundle');
    return report([
      [`a page of ${pages.origin}`, worked, JSON.stringify(expectedResult)],
      [
        `a page of ${pages.otherOrigin}, which is not in CORS_ORIGINS`,
        refused,
        'ProblemError: no_response: The service did not respond.',
      ],
      [
        '@tessera/client/identity in a page',
        withIdentity,
        'Error: @tessera/client/identity is for servers: it has the service token',
      ],
    ]);
  } finally {
    await stack.stop();
    await pages.close();
    rmSync(folder, { recursive: true, force: true });
  }
}

function report(results: readonly (readonly [name: string, result: string, expected: string])[]): boolean {
  let isExpected = true;
  for (const [name, result, expected] of results) {
    process.stdout.write(`${name}: ${result}\n`);
    if (isDeepStrictEqual(result, expected)) continue;
    isExpected = false;
    process.stdout.write(`  expected: ${expected}\n`);
  }
  return isExpected;
}

/** A server of one page, which runs an expression and posts the result to it. */
async function startPages() {
  let script = '';
  let receive: (result: string) => void = () => undefined;
  const server = createServer(async (request, response) => {
    if (request.method === 'POST') {
      receive(Buffer.concat(await request.toArray()).toString());
      response.writeHead(204).end();
      return;
    }
    const isPage = request.url === '/';
    response.writeHead(isPage ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' });
    response.end(isPage ? `<!doctype html><title>Consumer</title><script>${script}</script>` : '');
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    origin: `http://127.0.0.1:${port}`,
    /** The same server under another name, which is another origin for a browser. */
    otherOrigin: `http://localhost:${port}`,
    serve: (code: string, expression: string) => {
      const post = "(result) => fetch('/result', { method: 'POST', body: String(result) })";
      // A script that does not load the bundle reports its error, too.
      script = `addEventListener('error', ({ error }) => (${post})(error));</script><script>${code}</script><script>Promise.resolve(${expression}).then(${post}, ${post})`;
    },
    nextResult: () =>
      new Promise<string>((resolve) => {
        receive = resolve;
      }),
    close: async () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

/** Opens a page in Chromium until it has posted its result. */
async function openPage(
  chromium: string,
  folder: string,
  url: string,
  result: Promise<string>,
): Promise<string> {
  const profile = mkdtempSync(join(folder, 'profile-'));
  const flags = ['--headless', '--no-sandbox', '--disable-gpu', '--disable-background-networking'];
  const browser = spawn(chromium, [...flags, `--user-data-dir=${profile}`, url], { stdio: 'ignore' });
  const exit = once(browser, 'exit');
  const signal = AbortSignal.timeout(resultTimeoutMs);
  const timeout = once(signal, 'abort').then(() => 'no result in time');
  try {
    return await Promise.race([result, exit.then(([code]) => `Chromium exited with ${code}`), timeout]);
  } finally {
    browser.kill();
    await exit;
  }
}
