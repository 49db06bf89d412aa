import { execFileSync } from 'node:child_process';
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { createContext, runInContext } from 'node:vm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Stack, startStack } from '@tessera/stack';
import { expectedResult } from '../src/packages/browser-run.ts';
import { Colleague } from '../src/packages/colleague.ts';
import {
  bundleForBrowsers,
  installPackages,
  packPackages,
  publishedPackages,
  run,
  tool,
  writeSnippets,
} from '../src/packages/installed-packages.ts';

const repository = join(import.meta.dirname, '../../../..');
const types = ['@types/node@20'];
const password = 'a password of a consumer';

// The consumers of this test are in `consumer/`.
describe('the packages for other projects, as npm installs their tarballs', () => {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-packages-'));
  const projects = { '4': join(folder, 'express-4'), '5': join(folder, 'express-5') };
  let starting: Promise<Stack>;
  let tarballs: string[];

  beforeAll(async () => {
    starting = startStack();
    tarballs = await packPackages(folder);
    // An older TypeScript beside the older Express; the other project is checked by the TypeScript of this repository.
    await Promise.all([
      installPackages(projects['4'], [
        ...tarballs,
        ...types,
        'express@4',
        '@types/express@4',
        'typescript@5.9',
      ]),
      installPackages(projects['5'], [...tarballs, ...types, 'express@5', '@types/express@5']),
      starting,
    ]);
    for (const project of Object.values(projects)) writeSnippets(project);
  });
  afterAll(async () => {
    await (await starting).stop();
    rmSync(folder, { recursive: true });
  });

  it.each(publishedPackages)('@tessera/%s has its documents, and nothing of this repository', (name) => {
    const installed = join(projects['5'], 'node_modules', '@tessera', name);
    const files = readdirSync(installed, { recursive: true }).map(String);
    expect(files).toEqual(expect.arrayContaining(['package.json', 'README.md', 'CHANGELOG.md', 'dist']));
    expect(files.filter((file) => /attack|test|(?<!\.d)\.ts$/.test(file))).toEqual([]);
    const manifest = readFileSync(join(installed, 'package.json'), 'utf8');
    expect(manifest).not.toMatch(/workspace:|catalog:|@tessera\/source|attack/);
    expect(JSON.parse(manifest)).toMatchObject({ type: 'module', sideEffects: false });
    expect(readFileSync(join(installed, 'README.md'), 'utf8')).toContain(`npm install @tessera/${name}\n`);
  });

  it.each(publishedPackages)('@tessera/%s refers to nothing that its readers do not have', (name) => {
    const installed = join(projects['5'], 'node_modules', '@tessera', name);
    const names = execFileSync('git', ['ls-files'], { encoding: 'utf8', cwd: repository }).split('\n');
    for (const document of ['README.md', 'CHANGELOG.md']) {
      const text = readFileSync(join(installed, document), 'utf8');
      const links = [...text.matchAll(/\]\(([^)\s]*)/g)].map(([, link = '']) => link);
      expect(links.filter((link) => !/^(https:\/\/|#)/.test(link))).toEqual([]);
      const files = text.match(/(?<![\w/.@-])[\w-][\w./-]*\.(?:md|ts|json)\b(?!\()/g) ?? [];
      const unknown = files.filter((file) => !names.some((known) => `/${known}`.endsWith(`/${file}`)));
      expect(unknown).toEqual([]);
    }
  });

  it('publint and attw find no problem', async () => {
    expect(tarballs.map((tarball) => basename(tarball)).sort()).toEqual([
      expect.stringMatching(/^tessera-client-/),
      expect.stringMatching(/^tessera-contracts-/),
      expect.stringMatching(/^tessera-jwt-verify-/),
    ]);
    await Promise.all(
      tarballs.flatMap((tarball) => [
        run(tool('publint'), ['run', tarball, '--strict'], folder),
        run(tool('attw'), [tarball, '--profile', 'esm-only', '--no-emoji'], folder),
      ]),
    );
  });

  it.each([
    ['4', '5'],
    ['5', '7'],
  ] as const)(
    'a backend on Express %s compiles with TypeScript %s, as the programs in the READMEs do, and works',
    async (express, typescript) => {
      const project = projects[express];
      const compiler = typescript === '5' ? join(project, 'node_modules', '.bin', 'tsc') : tool('tsc');
      expect(await run(compiler, ['--version'], project)).toMatch(`Version ${typescript}.`);
      const { version } = JSON.parse(
        readFileSync(join(project, 'node_modules', 'express', 'package.json'), 'utf8'),
      );
      expect(version).toMatch(new RegExp(`^${express}\\.`));
      await run(compiler, ['--project', 'tsconfig.json'], project);
      const snippets = readdirSync(join(project, 'dist', 'snippets')).filter((file) => file.endsWith('.js'));
      for (const name of publishedPackages) expect(snippets).toContain(`${name}-1.js`);
      const { urls, serviceToken, internal } = await starting;
      const email = `express-${express}@example.com`;
      const input = [urls.identity, urls.issues, serviceToken, email, password];
      expect(JSON.parse(await run(process.execPath, ['dist/server.js', ...input], project))).toEqual({
        isVerified: true,
        statusWithoutToken: 401,
        late: expect.stringMatching(/^ProblemError: 409 version_conflict: /),
        isListed: true,
        history: ['created', 'updated', 'comment_added', 'status_changed'],
        comments: ['The printer had no paper.'],
        after: 'signed_out',
        webhook: 'missing_headers',
      });

      const user = { email: `worker-${express}@example.com`, password };
      const { id } = (await internal.post('/internal/identities', user)).data;
      const [output] = await Promise.all([
        run(process.execPath, ['dist/worker.js', urls.identity, urls.issues, user.email, password], project),
        (await Colleague.signUp(await starting)).resolveAfterComment(id),
      ]);
      expect(JSON.parse(output)).toEqual({ sub: id, isListed: true, seen: ['IN_PROGRESS', 'RESOLVED'] });
    },
    600_000,
  );

  it('a bundle for browsers compiles, contains nothing for backends, and works without Node', async () => {
    const project = projects['5'];
    await run(tool('tsc'), ['--project', 'tsconfig.browser.json'], project);
    const { code, inputs } = await bundleForBrowsers(project, "export * from './browser.ts'");
    const modules = {
      client: [
        'event-feed',
        'file-transfer',
        'issues',
        'problem-error',
        'response-problem',
        'service-url',
        'session',
        'transport',
        'waiting',
      ],
      contracts: ['operation-paths', 'requests'],
    };
    expect(inputs.filter((input) => input.startsWith('node_modules/')).sort()).toEqual(
      Object.entries(modules).flatMap(([name, files]) =>
        files.map((file) => `node_modules/@tessera/${name}/dist/${file}.js`),
      ),
    );
    expect(code).not.toMatch(/X-Service-Token|serviceToken|\/internal\//);
    const { urls, internal } = await starting;
    const email = 'browser@example.com';
    const created = await internal.post('/internal/identities', { email, password });
    expect(created.status).toBe(201);
    const browser = browserContext();
    runInContext(code, browser);
    browser.input = [urls.identity, urls.issues, email, password];
    const [output] = await Promise.all([
      runInContext('bundle.work(...input)', browser),
      (await Colleague.signUp(await starting)).resolveAfterComment(created.data.id),
    ]);
    expect(JSON.parse(output)).toEqual(expectedResult);
  });

  it('the client of identity does not load where `window` exists', async () => {
    const { code } = await bundleForBrowsers(
      projects['5'],
      "export { IdentityClient } from '@tessera/client/identity'",
    );
    expect(() => runInContext(code, browserContext())).toThrow('is for servers: it has the service token');
    const { window: _, ...withoutWindow } = browserContext();
    const server = createContext(withoutWindow);
    expect(runInContext(`${code}; typeof bundle.IdentityClient`, server)).toBe('function');
  });
});

/** A context with the globals of browsers that the client uses, and none of Node's. */
function browserContext() {
  const globals = { fetch, URL, URLSearchParams, AbortSignal, crypto, setTimeout, clearTimeout };
  const context: Record<string, unknown> = { ...globals };
  context.window = context;
  return createContext(context);
}
