import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { type RunRecord, readRunRecord } from '../../src/data-folder/run-record.ts';
import { findFreePort } from '../../src/postgres/free-port.ts';
import { eventually } from '../../src/processes/eventually.ts';
import { makeFolder, removeFolder } from './temporary-folder.ts';

const support = fileURLToPath(new URL('.', import.meta.url));

interface Seen {
  readonly event: string;
  readonly pid: number;
  readonly databaseUp?: boolean;
}

/** A checkout with two fake services that record what the launcher does. */
export class FakeProduct {
  readonly root = makeFolder();
  readonly data = path.join(this.root, '.data');
  readonly ports: Record<'identity' | 'issues', number>;
  readonly #launchers: Launcher[] = [];

  private constructor(ports: FakeProduct['ports']) {
    this.ports = ports;
    for (const name of ['identity', 'issues'] as const) {
      const app = path.join(this.root, 'apps', name);
      mkdirSync(path.join(app, 'dist'), { recursive: true });
      writeFileSync(path.join(app, 'package.json'), '{"type":"module"}');
      cpSync(path.join(support, 'fake-service.js'), path.join(app, 'dist/server.js'));
      cpSync(path.join(support, 'fake-migrate.js'), path.join(app, 'dist/migrate.js'));
    }
    this.writeTurbo('exit 0');
  }

  static async make(): Promise<FakeProduct> {
    return new FakeProduct({ identity: await findFreePort(), issues: await findFreePort() });
  }

  /** Replaces turbo with a shell script. */
  writeTurbo(script: string): void {
    const bin = path.join(this.root, 'node_modules/.bin');
    mkdirSync(bin, { recursive: true });
    writeFileSync(path.join(bin, 'turbo'), `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  }

  launch(variables: Record<string, string> = {}, args: string[] = []): Launcher {
    const environment = {
      PATH: process.env.PATH ?? '',
      IDENTITY_PORT: String(this.ports.identity),
      ISSUES_PORT: String(this.ports.issues),
      ...variables,
    };
    const launcher = new Launcher(this.root, environment, args);
    this.#launchers.push(launcher);
    return launcher;
  }

  /** The content of the launcher's run record. */
  runRecord(): RunRecord {
    const record = readRunRecord(path.join(this.data, 'run.json'));
    if (record === undefined) throw new Error('No launcher runs on the data folder.');
    return record;
  }

  /** The events that a service recorded, in order. */
  seen(name: string): Seen[] {
    const file = path.join(this.root, 'apps', name, 'dist/seen.jsonl');
    if (!existsSync(file)) return [];
    // The last line may be incomplete.
    const lines = readFileSync(file, 'utf8').split('\n').slice(0, -1);
    return lines.map((line) => JSON.parse(line));
  }

  /** The identities that the fake identity service has. */
  identities(): object[] {
    return JSON.parse(readFileSync(path.join(this.root, 'apps/identity/dist/identities.json'), 'utf8'));
  }

  /** The environment of a service. */
  environmentOf(name: string): Record<string, string> {
    return this.#read(name, 'environment.json');
  }

  /** The environment of a service's migrator. */
  migrationEnvironmentOf(name: string): Record<string, string> {
    return this.#read(name, 'migration-environment.json');
  }

  #read(name: string, file: string): Record<string, string> {
    return JSON.parse(readFileSync(path.join(this.root, 'apps', name, 'dist', file), 'utf8'));
  }

  async remove(): Promise<void> {
    for (const launcher of this.#launchers) {
      launcher.kill('SIGTERM');
      await launcher.ended;
    }
    removeFolder(this.root, path.join(this.data, 'postgres'));
  }
}

/** The start command as a process. */
export class Launcher {
  readonly #child: ChildProcess;
  output = '';
  /** The exit code, or null after a signal. */
  readonly ended: Promise<number | null>;

  constructor(root: string, environment: Record<string, string>, args: string[]) {
    const command = [
      '--import',
      'tsx',
      '--conditions=@tessera/source',
      path.join(support, 'launch.ts'),
      root,
    ];
    this.#child = spawn(process.execPath, [...command, ...args], {
      cwd: path.join(support, '../..'),
      env: environment,
      // A process group, as a shell creates for a foreground job.
      detached: true,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [this.#child.stdout, this.#child.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    this.ended = new Promise((resolve) => this.#child.once('close', resolve));
  }

  get pid(): number {
    return this.#child.pid ?? 0;
  }

  kill(signal: NodeJS.Signals): void {
    this.#child.kill(signal);
  }

  /** Sends SIGINT to the process group, as a terminal does for Ctrl-C. */
  interruptGroup(): void {
    process.kill(-this.pid, 'SIGINT');
  }

  async waitForOutput(text: string): Promise<void> {
    let ended = false;
    void this.ended.then(() => {
      ended = true;
    });
    await eventually(() => this.output.includes(text) || ended);
    if (!this.output.includes(text)) throw new Error(`The launcher did not print "${text}":\n${this.output}`);
  }

  async running(): Promise<void> {
    await this.waitForOutput('Tessera is running');
  }
}
