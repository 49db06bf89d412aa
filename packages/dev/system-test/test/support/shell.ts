import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';

const repository = fileURLToPath(new URL('../../../../..', import.meta.url));

/** A shell in the repository's root that runs a script from its standard input, like pasted text. */
export class Shell {
  readonly #process: ChildProcess;
  /** The output so far, of standard output and standard error. */
  output = '';
  /** The exit code, when the script has ended. */
  readonly ended: Promise<number | null>;

  constructor(script: string, environment: Record<string, string> = {}) {
    this.#process = spawn('bash', ['-euo', 'pipefail', '-s'], {
      cwd: repository,
      env: { ...process.env, ...environment },
      // A process group, so that it can be interrupted as a terminal does.
      detached: true,
    });
    for (const stream of [this.#process.stdout, this.#process.stderr]) {
      stream?.on('data', (chunk: Buffer) => {
        this.output += chunk.toString();
      });
    }
    this.ended = once(this.#process, 'close').then(([code]) => code);
    this.#process.stdin?.end(script);
  }

  /** Waits until the condition holds. @throws when the script has ended */
  async waitFor(condition: () => boolean | Promise<boolean>): Promise<void> {
    while (!(await condition())) {
      if (this.#hasEnded) throw new Error(`The script ended:\n${this.output}`);
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }

  /** Sends SIGINT to the process group, as a terminal does for Ctrl-C, and waits for the end. */
  async interrupt(): Promise<void> {
    const { pid } = this.#process;
    if (pid === undefined || this.#hasEnded) return;
    process.kill(-pid, 'SIGINT');
    await this.ended;
  }

  get #hasEnded(): boolean {
    return this.#process.exitCode !== null || this.#process.signalCode !== null;
  }
}

/** A terminal into which blocks are pasted one after the other. */
export class Terminal {
  variables: Record<string, string>;
  readonly #replacements: Readonly<Record<string, string>>;

  /** @param replacements what a block has, and what is pasted instead */
  constructor(variables: Record<string, string>, replacements: Readonly<Record<string, string>>) {
    this.variables = variables;
    this.#replacements = replacements;
  }

  /** Pastes a block, which keeps its variables and functions. @returns what it prints */
  async paste(block: string): Promise<string> {
    let here = block;
    for (const [text, other] of Object.entries(this.#replacements)) here = here.replaceAll(text, other);
    // What a block prints may not end its line.
    const shell = new Shell(`set -a\n${here}\necho\nnode -p 'JSON.stringify(process.env)'`, this.variables);
    if ((await shell.ended) !== 0) throw new Error(shell.output);
    const lines = shell.output.trimEnd().split('\n');
    this.variables = JSON.parse(lines.pop() ?? '');
    return lines.join('\n').trimEnd();
  }
}
