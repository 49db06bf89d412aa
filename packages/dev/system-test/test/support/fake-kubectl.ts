import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import type { ServiceName, Stack } from '@tessera/stack';

const repositoryRoot = fileURLToPath(new URL('../../../../..', import.meta.url));

interface Answer {
  code: number;
  stdout: string;
  stderr?: string;
}

/** A `kubectl` whose cluster is a stack: the Secret is the folder of the keys, a pod is the service's folder. */
export class FakeKubectl {
  readonly #stack: Stack;
  readonly #podEnvironment: Record<string, string>;
  readonly #folder = mkdtempSync(join(tmpdir(), 'tessera-kubectl-'));
  readonly #serviceTokenFile = join(this.#folder, 'service-token');
  readonly #server = createServer(async (request, response) => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const [args = '', input = ''] = Buffer.concat(chunks).toString().split('\0\0');
    const { code, stdout, stderr = '' } = await this.#answer(args.split('\0'), input);
    response.end(`printf %s ${quote(stderr)} >&2; printf %s ${quote(stdout)}; exit ${code}\n`);
  });
  readonly #environment: Record<string, string> = {};
  #isReplacing = false;
  #replaced: Promise<void> = Promise.resolve();

  /** @param podEnvironment variables of the services beyond those that every stack sets */
  constructor(stack: Stack, podEnvironment: Record<string, string> = {}) {
    this.#stack = stack;
    this.#podEnvironment = podEnvironment;
    writeFileSync(this.#serviceTokenFile, stack.serviceToken);
  }

  async start(): Promise<void> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = this.#server.address() as AddressInfo;
    // Without Node, because a runbook calls it dozens of times.
    writeFileSync(
      join(this.#folder, 'kubectl'),
      `#!/bin/sh
answer=$({
  printf '%s\\0' "$@" ''
  case " $* " in *' --stdin '* | *' --filename '*) cat ;; esac
} | curl --silent --show-error --fail --data-binary @- http://127.0.0.1:${port}) || exit 1
eval "$answer"
`,
      { mode: 0o755 },
    );
    // The runbooks wait in steps of seconds.
    writeFileSync(join(this.#folder, 'sleep'), '#!/bin/sh\nPATH=/usr/bin:/bin exec sleep 0.1\n', {
      mode: 0o755,
    });
  }

  /** Runs a script in bash. Returns its exit code and output. */
  async run(script: string): Promise<{ code: number; output: string }> {
    const child = spawn('bash', ['-s'], { env: { PATH: `${this.#folder}:${process.env.PATH}` } });
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.on('data', (chunk) => {
        output += chunk;
      });
    child.stdin.end(script);
    const [code] = await once(child, 'close');
    return { code, output };
  }

  /** Moves the times in the Secret into the past, as if they were longer ago. */
  passTime(minutes: number): void {
    const file = join(this.#stack.keys.directory, 'keys.json');
    const earlier = (time: string) => new Date(Date.parse(time) - minutes * 60_000).toISOString();
    writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, earlier));
  }

  async stop(): Promise<void> {
    await this.#replaced;
    this.#server.close();
    rmSync(this.#folder, { recursive: true });
  }

  async #answer([, , verb = '', ...rest]: string[], input: string): Promise<Answer> {
    // The pods of before serve until they have ended; `rollout status` does not wait for them.
    if (verb === 'get' && rest[0] === 'pods') return { code: 0, stdout: this.#isReplacing ? 'old' : '' };
    if (verb === 'get') return { code: 0, stdout: JSON.stringify(this.#readSecret()) };
    if (verb === 'replace') return this.#replace(input);
    if (verb === 'exec') return this.#exec(nameIn(rest[1]), rest.slice(rest.indexOf('--') + 1), input);
    if (verb === 'patch') Object.assign(this.#environment, JSON.parse(rest.at(-1) ?? '{}').data);
    if (verb === 'rollout' && rest[0] === 'restart') this.#replacePods(nameIn(rest[1]));
    return { code: 0, stdout: '' };
  }

  #readSecret() {
    const { directory } = this.#stack.keys;
    const read = (name: string) => [name, readFileSync(join(directory, name), 'base64')];
    return {
      metadata: { name: 'identity-keys', annotations: { last: 'applied' } },
      data: Object.fromEntries(readdirSync(directory).map(read)),
    };
  }

  #replace(input: string): Answer {
    // Old releases of kubectl succeed without an object.
    if (input === '') return { code: 0, stdout: '' };
    const { data, metadata } = JSON.parse(input);
    if (metadata.annotations !== undefined) return { code: 1, stdout: '', stderr: 'a copy of the keys\n' };
    const { directory } = this.#stack.keys;
    for (const name of readdirSync(directory)) rmSync(join(directory, name));
    for (const [name, value] of Object.entries<string>(data))
      writeFileSync(join(directory, name), Buffer.from(value, 'base64'));
    return { code: 0, stdout: 'secret/identity-keys replaced\n' };
  }

  async #exec(service: ServiceName, [program = '', ...args]: string[], input: string): Promise<Answer> {
    const [replica] = service === 'identity' ? this.#stack.identities : this.#stack.issues;
    const env = {
      PATH: process.env.PATH,
      IDENTITY_URL: this.#stack.urls.identity,
      JWT_ISSUER: this.#stack.urls.identity,
      PORT: String(replica?.port),
      SERVICE_TOKEN_FILE: this.#serviceTokenFile,
      ...this.#podEnvironment,
    };
    const child = spawn(program, args, { cwd: join(repositoryRoot, 'apps', service), env });
    const answer = { stdout: '', stderr: '' };
    child.stdout.on('data', (chunk) => {
      answer.stdout += chunk;
    });
    child.stderr.on('data', (chunk) => {
      answer.stderr += chunk;
    });
    child.stdin.end(input);
    const [code] = await once(child, 'close');
    return { code, ...answer };
  }

  #replacePods(service: ServiceName): void {
    this.#isReplacing = true;
    this.#replaced = this.#replaced
      .then(() => sleep(300))
      .then(() => this.#restart(service))
      .then(() => {
        this.#isReplacing = false;
      });
  }

  async #restart(service: ServiceName): Promise<void> {
    const replicas = service === 'identity' ? this.#stack.identities : this.#stack.issues;
    for (const replica of replicas) {
      await replica.stop();
      await replica.start(service === 'identity' ? this.#environment : {});
    }
  }
}

function quote(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

function nameIn(target = ''): ServiceName {
  return target.endsWith('/issues') ? 'issues' : 'identity';
}
