import { spawnSync } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { readCodeBlocks, shellBlock } from '@tessera/delivery/code-blocks';
import { findFreePort } from '@tessera/stack/postgres';
import { transformSync } from 'esbuild';
import { exportJWK, generateKeyPair, type JWK, SignJWT } from 'jose';
import { findPython } from '../src/clients/python.ts';
import { requiredPython } from './support/required-python.ts';
import { Shell } from './support/shell.ts';

interface Change {
  identity_id: string;
  session_epoch?: number;
}

/** The internal API of identity and its keys, which can be down, forget its events, and refuse positions. */
class FakeIdentity {
  readonly people = new Set(['a', 'b', 'c']);
  readonly deletedKeys: string[] = [];
  /** A position is the number of events before it. */
  readonly changes: Change[] = [];
  keys: JWK[] = [];
  keyRequests = 0;
  areKeysDown = false;
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
    if (url.pathname === '/jwks') {
      this.keyRequests += 1;
      send(response, this.areKeysDown ? 503 : 200, { keys: this.keys });
    } else if (fault === 'lost') request.socket.destroy();
    else if (fault === 'busy') send(response, 503, {}, { 'Retry-After': '0' });
    else if (request.headers['x-service-token'] !== 'secret') send(response, 403, {});
    else if (url.pathname === '/internal/events') this.#answerEvents(url.searchParams.get('after'), response);
    else send(response, 200, this.#list(url.searchParams.get('ids')?.split(',')));
  }

  #list(ids: readonly string[] = [...this.people]) {
    const found = [...this.people].filter((id) => ids.includes(id));
    return found.map((id) => ({ id, email: `${id}@example.com`, is_active: true }));
  }

  #answerEvents(after: string | null, response: ServerResponse): void {
    if (this.refuses && after !== null && after !== 'now') {
      this.refuses = false;
      send(response, 422, { status: 422, code: 'validation_failed' });
      return;
    }
    const start = after === 'now' ? this.changes.length : Number(after ?? this.kept);
    const reset = start < this.kept;
    const changes = reset ? [] : this.changes.slice(start, start + 100);
    send(response, 200, {
      events: changes.map((data) => ({ type: 'identity.updated', data })),
      next: String(reset ? this.changes.length : start + changes.length),
      reset,
      deleted_keys: this.deletedKeys,
    });
  }
}

function send(response: ServerResponse, status: number, body: unknown, headers = {}): void {
  response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(JSON.stringify(body));
}

/** The blocks of a page in a language. */
const blocksOf = (page: string, language: string) =>
  readCodeBlocks(page)
    .filter((block) => block.language === language)
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

const { code } = transformSync(blocksOf('docs/keep-a-copy.md', 'ts').join('\n'), {
  loader: 'ts',
  format: 'esm',
});
const pythonWithPyJwt = requiredPython('cryptography', 'jwt');
const python = pythonWithPyJwt ?? findPython('sqlite3');
const hasPyJwt = pythonWithPyJwt !== undefined;
const [backend = ''] = blocksOf('docs/python-backend.md', 'python');
const programs: [string, string, string][] = [
  [
    'TypeScript',
    'exec node --conditions=@tessera/source --import tsx --input-type=module --eval "$PROGRAM"',
    `process.chdir(process.env.COPY);\n${code}`,
  ],
];
const inPython = `cd "$COPY" && exec ${python} -c "$PROGRAM"`;
// Without PyJWT, the program copies and verifies nothing.
if (python !== undefined)
  programs.push(['Python', inPython, hasPyJwt ? backend : backend.replace(/^import jwt$/m, '')]);

let shell: Shell;
async function start(command: string, program: string): Promise<number> {
  const port = await findFreePort();
  shell = new Shell(`cd packages/dev/system-test; ${command}`, {
    PROGRAM: program,
    COPY: folder,
    IDENTITY: url,
    JWT_ISSUER: 'https://identity.example',
    SERVICE_TOKEN: 'secret',
    PORT: String(port),
  });
  return port;
}
const prints = (text: string) => shell.waitFor(() => shell.output.includes(text));

describe.each(programs)('the copy in %s', (_language, command, program) => {
  const change = (identity_id: string) => identity.changes.push({ identity_id });
  afterEach(() => shell.interrupt());

  it('follows the feed through outages, a restart, a reset and an unknown position', async () => {
    await start(command, program);
    await prints('Copied 3');
    change('a');
    await prints('Stored a');
    identity.faults.push('lost', 'busy', 'lost');
    identity.people.delete('b');
    change('b');
    await prints('Removed b');
    await shell.interrupt();

    change('c');
    await start(command, program);
    await prints('Stored c');
    expect(shell.output).not.toContain('Copied');

    // The events of a deletion are lost.
    identity.people.delete('c');
    change('c');
    change('c');
    identity.kept = change('c');
    await prints('Copied 1');
    await shell.interrupt();

    identity.refuses = true;
    identity.people.add('d');
    await start(command, program);
    await prints('Copied 2');
  });
});

if (hasPyJwt) {
  describe('the backend in Python', () => {
    // The program has the time of its monotonic clock, plus what the file says.
    const clock = `import os, time
real = time.monotonic
time.monotonic = lambda: real() + (float(open("clock").read()) if os.path.exists("clock") else 0)
`;
    afterEach(() => shell.interrupt());

    it('verifies tokens, also in an outage, and refuses ended sessions and deleted keys', async () => {
      const made = await Promise.all([generateKeyPair('RS256'), generateKeyPair('RS256')]);
      const [first, second] = await Promise.all(
        made.map(async ({ publicKey }, index) => ({ ...(await exportJWK(publicKey)), kid: `key-${index}` })),
      );
      if (first === undefined || second === undefined) throw new Error('there are two keys');
      identity.keys = [first];
      const port = await start(inPython, clock + backend);
      await prints('Copied 3');

      const now = Math.floor(Date.now() / 1000);
      const claims = {
        ...{
          iss: 'https://identity.example',
          aud: 'tessera',
          sub: 'a',
          type: 'access',
          iat: now,
          exp: now + 900,
        },
        jti: '00000000-0000-8000-8000-000000000000',
      };
      const sign = (changed: object = {}, index = 0, header: object = {}) =>
        new SignJWT({ ...claims, ...changed })
          .setProtectedHeader({ alg: 'RS256', kid: `key-${index}`, ...header })
          .sign(made[index]?.privateKey ?? new Uint8Array());
      const ask = async (token: string) =>
        fetch(`http://127.0.0.1:${port}/`, { headers: { Authorization: `Bearer ${token}` } });
      const statusOf = async (token: string) => (await ask(token)).status;
      const valid = await sign();

      // The server listens a moment after the copy.
      await shell.waitFor(() => statusOf(valid).then(Boolean, () => false));
      expect(await (await ask(valid)).json()).toEqual({ id: 'a', email: 'a@example.com' });
      expect(await statusOf(await sign({ sub: 'new' }))).toBe(200);
      // Its clock may be 5 seconds behind that of identity.
      expect(await statusOf(await sign({ iat: now + 4 }))).toBe(200);
      const secret = new TextEncoder().encode(JSON.stringify(first));
      const invalid = [
        ...[{ iss: 'https://other.example' }, { aud: 'tessera-refresh' }, { type: 'refresh' }],
        ...[{ exp: now - 60 }, { exp: undefined }, { sub: undefined }, { jti: undefined }],
      ].map((changed) => sign(changed));
      const foreign = [
        new SignJWT(claims).setProtectedHeader({ alg: 'HS256', kid: 'key-0' }).sign(secret),
        sign({}, 1, { kid: 'key-0' }),
        sign({}, 1),
        ...['', 'a', 'a.b.c'],
      ];
      for (const token of await Promise.all([...invalid, ...foreign]))
        expect([token, await statusOf(token)]).toEqual([token, 401]);
      expect(identity.keyRequests).toBe(1);

      // An unknown key is asked for, but not again and again.
      identity.keys = [first, second];
      writeFileSync(join(folder, 'clock'), '40');
      expect(await statusOf(await sign({}, 1))).toBe(200);
      for (const kid of ['x', 'y', 'z']) expect(await statusOf(await sign({}, 0, { kid }))).toBe(401);
      expect(identity.keyRequests).toBe(2);

      identity.areKeysDown = true;
      writeFileSync(join(folder, 'clock'), '4000');
      expect(await statusOf(valid)).toBe(200);
      expect(await statusOf(await sign({}, 0, { kid: 'x' }))).toBe(503);
      writeFileSync(join(folder, 'clock'), '90000');
      expect(await statusOf(valid)).toBe(503);
      identity.areKeysDown = false;
      writeFileSync(join(folder, 'clock'), '90010');
      expect(await statusOf(valid)).toBe(200);

      identity.changes.push({ identity_id: 'a', session_epoch: 11 });
      await prints('Stored a');
      const later = (epoch: string) => sign({ jti: claims.jti.replace('00000000', epoch) });
      expect(await statusOf(await later('0000000a'))).toBe(401);
      expect(await statusOf(await later('0000000b'))).toBe(200);
      identity.changes.push({ identity_id: 'b', session_epoch: 1 });
      await prints('Stored b');
      expect(await statusOf(await later('0000000b'))).toBe(200);

      identity.deletedKeys.push('key-0');
      await shell.waitFor(async () => (await statusOf(await later('0000000b'))) === 401);
      expect(await statusOf(await sign({ sub: 'c' }, 1))).toBe(200);
    });
  });
}

if (python !== undefined) {
  it('the backend in Python compiles', () => {
    const compile = ['-c', 'import ast, sys; ast.parse(sys.stdin.read())'];
    expect(String(spawnSync(python, compile, { input: backend }).stderr)).toBe('');
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
  identity.changes.push({ identity_id: 'b' });
  const { code, output } = await turn();
  expect([code, output.match(/\w@/g)]).toEqual([0, ['b@']]);
  expect(readFileSync(join(folder, 'people.position'), 'utf8')).toBe('1\n');
  identity.refuses = true;
  expect((await turn()).code).not.toBe(0);
  expect(readFileSync(join(folder, 'people.position'), 'utf8')).toBe('1\n');
});
