import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { IssuesClient, Session } from '@tessera/client/issues';
import { readCodeBlocks, shellBlock, shellBlocks } from '@tessera/delivery/code-blocks';
import { HttpBrowser } from '@tessera/delivery/http-browser';
import { takeTour } from '@tessera/delivery/tour';
import { signInToWebApp, visitWebApp } from '@tessera/delivery/web-app';
import { type Stack, startStack, testPooler } from '@tessera/stack';
import { findFreePort } from '@tessera/stack/postgres';
import { type FakeTracker, startGitLab } from '@tessera/trackers/fakes';
import { transformSync } from 'esbuild';
import { requiredPython } from './support/required-python.ts';
import { Shell } from './support/shell.ts';
import { trackerVariables, unansweredByIdentity, unansweredByIssues } from './support/try-examples.ts';

const repository = fileURLToPath(new URL('../../../..', import.meta.url));

/** The program of docs/integrate.md in a language. */
function integration(language: string): string {
  const blocks = readCodeBlocks('docs/integrate.md').filter((block) => block.language === language);
  return blocks.map(({ text }) => text).join('\n');
}

const python = requiredPython('cryptography', 'jwt', 'requests');
const hasPackages = python !== undefined;
const integrations = [
  {
    language: 'TypeScript',
    command: `cd packages/dev/system-test
      exec node --conditions=@tessera/source --import tsx --input-type=module --eval "$PROGRAM"`,
    program: () => transformSync(integration('ts'), { loader: 'ts', format: 'esm' }).code,
  },
  // `pip install requests 'PyJWT[crypto]'`, as the page says.
  ...(hasPackages
    ? [{ language: 'Python', command: `exec ${python} -c "$PROGRAM"`, program: () => integration('python') }]
    : []),
];

describe('npx pnpm@12 start', () => {
  let data: string;
  let start: Shell;
  let urls: { identityUrl: string; issuesUrl: string };
  let tracker: FakeTracker;
  const serviceToken = () => readFileSync(join(data, 'service-token'), 'utf8').trim();
  const target = () => ({ ...urls, serviceToken: serviceToken() });

  beforeAll(async () => {
    data = mkdtempSync(join(tmpdir(), 'tessera-tour-'));
    // PostgreSQL may run as another user, which must reach its own folder.
    chmodSync(data, 0o755);
    const [identity, issues] = [await findFreePort(), await findFreePort()];
    urls = { identityUrl: `http://localhost:${identity}`, issuesUrl: `http://localhost:${issues}` };
    tracker = await startGitLab({ project: 'acme/website' });
    const [command = ''] = shellBlock('README.md', 'Start', 0).split('\n');
    start = new Shell(`${command.split('#')[0]?.trim()} --tour`, {
      npm_config_yes: 'true',
      ...trackerVariables(tracker),
      IDENTITY_PORT: String(identity),
      ISSUES_PORT: String(issues),
      TESSERA_DATA_DIR: data,
    });
    await start.waitFor(() => start.output.includes('Tessera is running'));
  });

  afterAll(async () => {
    await start.interrupt();
    await tracker.close();
    const location = join(data, 'postgres.location');
    if (existsSync(location)) rmSync(readFileSync(location, 'utf8').trim(), { recursive: true, force: true });
    rmSync(data, { recursive: true });
  });

  it('serves the commands of the README and the tour, twice', async () => {
    for (let paste = 1; paste <= 2; paste += 1) {
      expect(await takeTour(target())).not.toContain('"code"');
    }
  });

  it.each(integrations)(
    'answers the programs of docs/integrate.md, in the shell and in $language',
    async (one) => {
      const port = await findFreePort();
      const runProgram = `(${one.command}) &
      until (: >/dev/tcp/127.0.0.1/$PORT) 2>/dev/null; do kill -0 $!; sleep 0.2; done`;
      const [register = '', send = ''] = shellBlocks('docs/integrate.md', '5. Receive webhooks');
      const script = [
        shellBlock('docs/integrate.md', '1. Get a token', 0),
        shellBlock('docs/integrate.md', '2. Verify tokens', 0),
        shellBlock('docs/integrate.md', '3. Mirror the identities', 0),
        shellBlock('docs/integrate.md', '4. Create an issue with links', 0),
        register,
        runProgram,
        send,
        shellBlock('docs/integrate.md', '6. Follow the stream', 0),
        shellBlock('docs/integrate.md', '7. Handle errors', 0),
        'wait',
      ];
      const here = script
        .join('\n')
        .replace('http://localhost:3001', urls.identityUrl)
        .replace('http://localhost:3002', urls.issuesUrl)
        .replace('.data/service-token', join(data, 'service-token'))
        .replace('PORT=4000', `PORT=${port}`);
      const shell = new Shell(here, { PROGRAM: one.program() });
      const printed = [
        ...['"alg":"RS256"', '"active":true', '"next":', '"title":"The refund is missing"'],
        ...['event: issue.status_changed', '\nvalidation_failed\n', 'The token is of '],
        ...['Created ISS-', 'Refused validation_failed'],
        ...['Received webhook.test', 'Received issue.status_changed'],
      ];
      await shell.waitFor(() => printed.every((part) => shell.output.includes(part)));
      expect(shell.output).toMatch(/Copied [Tt]rue/);
      await shell.interrupt();
    },
  );

  if (spawnSync('python3', ['--version']).status === 0) {
    it('has a program in Python there that compiles', () => {
      const compile = ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'];
      execFileSync('python3', compile, { input: integration('python') });
    });
  }

  // The program itself is tested in keep-a-copy.test.ts.
  const itWithPackages = hasPackages ? it : it.skip;
  itWithPackages('answers the backend of docs/python-backend.md, and its token', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tessera-backend-'));
    const [{ text: program } = { text: '' }] = readCodeBlocks('docs/python-backend.md').filter(
      ({ language }) => language === 'python',
    );
    const script = [
      shellBlock('docs/python-backend.md', 'A backend in Python', 0),
      'until (: >/dev/tcp/127.0.0.1/$PORT) 2>/dev/null; do kill -0 $!; sleep 0.2; done',
      shellBlock('docs/python-backend.md', 'A backend in Python', 1),
      shellBlock('docs/python-backend.md', 'See it refuse and follow', 0),
      'echo seen',
      'wait',
    ];
    const here = script
      .join('\n')
      .replace(
        'python3 backend.py',
        '(cd "$FOLDER" && exec PYTHON -c "$PROGRAM") &'.replace('PYTHON', python ?? ''),
      )
      .replaceAll('http://localhost:3001', urls.identityUrl)
      .replaceAll('.data/service-token', join(data, 'service-token'))
      .replace('PORT=4000', `PORT=${await findFreePort()}`);
    const shell = new Shell(here, { PROGRAM: program, FOLDER: folder });
    await shell.waitFor(() => shell.output.includes('\nseen\n'));
    expect(shell.output).toMatch(/^\{"id": "[\w-]{36}", "email": (?:null|"ida-.*")\}$/m);
    const asked = shell.output.replace(/^(?:127\.0\.0\.1|Stored|Copied) .*\n/gm, '');
    expect(asked).toMatch(/"invalid_token"\} 401\n200\n\{"id": .*"changed-ida-.*\} 200\n204\n.*401\nseen\n/);
    await shell.interrupt();
    rmSync(folder, { recursive: true });
  });

  it('prints a tour that can be pasted twice', () => {
    const [, rest = ''] = start.output.split('A tour, to paste into another terminal:');
    const [tour = ''] = rest.split('\nSign in to the web app');
    for (let paste = 1; paste <= 2; paste += 1) {
      const output = execFileSync('bash', ['-euo', 'pipefail', '-s'], { input: tour, encoding: 'utf8' });
      for (const part of ['"email":"ada-', '"token_type":"Bearer"', '"alg":"RS256"', '\nIN_PROGRESS\n'])
        expect(output).toContain(part);
      expect(output).not.toContain('"code"');
    }
  });

  describe('the web app', () => {
    const command = async (line: string) => {
      const options = { cwd: repository, env: { ...process.env, TESSERA_DATA_DIR: data, NO_COLOR: '1' } };
      return (await promisify(execFile)('npx', ['--yes', 'pnpm@12', ...line.split(' ')], options)).stdout;
    };
    const signIn = (email: string, password: string, newPassword?: string) =>
      signInToWebApp(new HttpBrowser(), urls.issuesUrl, { email, password, newPassword });

    it('is open to the administrator with the printed password, who chooses another one', async () => {
      const printed = /as (\S+) with the one-time password (\S+)$/m.exec(start.output);
      const [, email = '', password = ''] = printed ?? [];
      // The password is the last that it prints.
      expect(start.output.trimEnd().split('\n').slice(-3).join('\n')).toContain(password);
      expect(await signIn(email, password)).toBeUndefined();
      const administrator = { email, is_staff: true, is_superuser: true };
      expect(await signIn(email, password, 'a lighthouse made of salt')).toMatchObject(administrator);
      const output = await command('reset-password');
      const [, next = ''] = /^The one-time password of admin@example\.com is (\S+)$/m.exec(output) ?? [];
      expect(await signIn(email, 'a lighthouse made of salt')).toBeUndefined();
      expect(await signIn(email, next, 'a lighthouse made of glass')).toMatchObject(administrator);
    });

    it('serves its pages with the policy that they have everywhere', async () => {
      await visitWebApp({ ...urls, serviceToken: serviceToken(), origin: urls.issuesUrl });
    });

    it("is open to the demo's people as it prints", async () => {
      const started = Date.now();
      const output = await command('demo --issues 3');
      const [, names = '', password = ''] = /as any of (.+) with "(.+)"; ada is staff/.exec(output) ?? [];
      const emails = names.split(', ');
      expect([emails.length, output]).toEqual([8, expect.stringContaining(`${urls.issuesUrl}/sign-in`)]);
      const users = await Promise.all(emails.map((email) => signIn(email, password)));
      expect(users).toEqual(emails.map((email) => expect.objectContaining({ email })));
      const notified = await Promise.all(
        emails.map(async (email) => {
          const session = await Session.signIn({ identityUrl: urls.identityUrl, email, password });
          const api = new IssuesClient({ baseUrl: urls.issuesUrl, token: session });
          return (await api.notificationsIfChanged({ state: 'done' }))?.notifications ?? [];
        }),
      );
      const times = notified.flat().map(({ created_at }) => Date.parse(created_at));
      expect(times.length).toBeGreaterThan(0);
      expect(Math.max(...times)).toBeLessThan(started);
    });
  });

  it('answers the examples of all operations of identity with 2xx', async () => {
    expect(await unansweredByIdentity(target())).toEqual([]);
  });

  it('answers the examples of all operations of issues with 2xx', async () => {
    expect(await unansweredByIssues(target(), tracker)).toEqual([]);
  });

  it('stops on Ctrl-C', async () => {
    await start.interrupt();
    expect(start.output).toContain('Stopped.');
    await expect(fetch(`${urls.identityUrl}/healthz`)).rejects.toThrow();
  });
});

// `start` has no pooler. With TEST_POOLER, all operations run through it on a stack.
if (testPooler() !== 'off') {
  describe('both services through a pooler', () => {
    let stack: Stack;
    let tracker: FakeTracker;
    const target = () => ({
      identityUrl: stack.urls.identity,
      issuesUrl: stack.urls.issues,
      serviceToken: stack.serviceToken,
    });
    beforeAll(async () => {
      tracker = await startGitLab({ project: 'acme/website' });
      stack = await startStack({ environment: { issues: trackerVariables(tracker) } });
    });
    afterAll(async () => {
      expect(await stack.stop()).toEqual([0, 0]);
      await tracker.close();
    });

    it('serve the tour, and answer the examples of all operations with 2xx', async () => {
      expect(await takeTour(target())).not.toContain('"code"');
      expect(await unansweredByIdentity(target())).toEqual([]);
      expect(await unansweredByIssues(target(), tracker)).toEqual([]);
    });
  });
}
