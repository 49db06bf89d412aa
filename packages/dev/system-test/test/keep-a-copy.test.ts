import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readCodeBlocks, shellBlock } from '@tessera/delivery/code-blocks';
import { transformSync } from 'esbuild';
import { Shell } from './support/shell.ts';

/** The internal API of identity, which can be down, forget its events, and refuse positions. */
class FakeIdentity {
  readonly people = new Set(['a', 'b', 'c']);
  readonly deletedKeys: string[] = [];
  /** The ids of the changed identities. A position is the number of events before it. */
  readonly events: string[] = [];
  /** What happens to the next requests. */
  readonly faults: ('lost' | 'busy')[] = [];
  /** Positions before it are reset. */
  kept = 0;
  refuses = false;
  readonly #server: Server = createServer((request, response) => this.#answer(request, response));

  async listen(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const fault = this.faults.shift();
    const url = new URL(request.url ?? '', 'http://identity');
    if (fault === 'lost') request.socket.destroy();
    else if (fault === 'busy') send(response, 503, {}, { 'Retry-After': '0' });
    else if (request.headers['x-service-token'] !== 'secret') send(response, 403, {});
    else if (url.pathname === '/internal/events') this.#answerEvents(url.searchParams.get('after'), response);
    else send(response, 200, this.#list(url.searchParams.get('ids')?.split(',')));
  }

  #list(ids: readonly string[] = [...this.people]) {
    const found = [...this.people].filter((id) => ids.includes(id));
    return found.map((id) => ({ id, email: `${id}@example.com` }));
  }

  #answerEvents(after: string | null, response: ServerResponse): void {
    if (this.refuses && after !== null && after !== 'now') {
      this.refuses = false;
      send(response, 422, { status: 422, code: 'validation_failed' });
      return;
    }
    const start = after === 'now' ? this.events.length : Number(after ?? this.kept);
    const reset = start < this.kept;
    const events = reset ? [] : this.events.slice(start, start + 100);
    send(response, 200, {
      events: events.map((identity_id) => ({ type: 'identity.updated', data: { identity_id } })),
      next: String(reset ? this.events.length : start + events.length),
      reset,
      deleted_keys: this.deletedKeys,
    });
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

const page = 'docs/keep-a-copy.md';
const blocksOf = (language: string, heading: string) =>
  readCodeBlocks(page)
    .filter((block) => block.language === language && block.heading === heading)
    .map(({ text }) => text);

let identity: FakeIdentity;
let url: string;
let folder: string;
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-copy-'));
  identity = new FakeIdentity();
  url = await identity.listen();
});
afterEach(() => {
  identity.close();
  rmSync(folder, { recursive: true });
});

const [loop = '', run = '', ofIssues = ''] = blocksOf('python', 'Python');
const { code } = transformSync(blocksOf('ts', 'TypeScript').join('\n'), { loader: 'ts', format: 'esm' });
const hasPython = spawnSync('python3', ['--version']).status === 0;
const programs: [string, string, Record<string, string>][] = [
  [
    'TypeScript',
    'exec node --conditions=@tessera/source --import tsx --input-type=module --eval "$PROGRAM"',
    { PROGRAM: `process.chdir(process.env.COPY);\n${code}` },
  ],
  ...(hasPython
    ? [
        [
          'Python',
          'cd "$COPY" && exec python3 -c "$PROGRAM"',
          { PROGRAM: `${loop}\n${run}` },
        ] satisfies (typeof programs)[number],
      ]
    : []),
];

describe.each(programs)('the copy in %s', (language, command, variables) => {
  let shell: Shell;
  const start = () => {
    shell = new Shell(`cd packages/dev/system-test; ${command}`, {
      ...variables,
      COPY: folder,
      IDENTITY: url,
      SERVICE_TOKEN: 'secret',
    });
  };
  const prints = (text: string) => shell.waitFor(() => shell.output.includes(text));
  const change = (id: string) => identity.events.push(id);
  afterEach(() => shell.interrupt());

  it('follows the feed through outages, a restart, a reset and an unknown position', async () => {
    start();
    await prints('Copied 3');
    change('a');
    await prints('Stored a');
    identity.faults.push('lost', 'busy', 'lost');
    identity.people.delete('b');
    change('b');
    await prints('Removed b');
    await shell.interrupt();

    change('c');
    start();
    await prints('Stored c');
    expect(shell.output).not.toContain('Copied');

    // The events of a deletion are lost, and a key is deleted.
    identity.people.delete('c');
    identity.deletedKeys.push('identity-key-1');
    identity.kept = identity.events.push('c', 'c', 'c');
    await prints('Copied 1');
    if (language === 'Python') await prints("Refused ['identity-key-1']");
    await shell.interrupt();

    identity.refuses = true;
    identity.people.add('d');
    start();
    await prints('Copied 2');
  });
});

if (hasPython) {
  it('the other programs in Python compile', () => {
    const keys = blocksOf('python', 'Keys that change or are missing').join('\n');
    const compile = ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'];
    const compiled = spawnSync('python3', compile, { input: [loop, ofIssues, keys].join('\n') });
    expect(String(compiled.stderr)).toBe('');
  });
}

it('the copy in the shell reads what has changed since the last turn', async () => {
  const turn = async () => {
    const shell = new Shell(`cd "$COPY"\n${shellBlock('docs/keep-a-copy.md', 'curl', 0)}`, {
      COPY: folder,
      IDENTITY: url,
      SERVICE_TOKEN: 'secret',
    });
    return { code: await shell.ended, output: shell.output };
  };
  expect((await turn()).output).toMatch(/a@.*b@.*c@/);
  identity.events.push('b');
  const { code, output } = await turn();
  expect([code, output.match(/\w@/g)]).toEqual([0, ['b@']]);
  expect(readFileSync(join(folder, 'people.position'), 'utf8')).toBe('1\n');
  identity.refuses = true;
  expect((await turn()).code).not.toBe(0);
  expect(readFileSync(join(folder, 'people.position'), 'utf8')).toBe('1\n');
});
