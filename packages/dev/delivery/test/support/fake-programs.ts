import { chmodSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { run } from '../../src/command.ts';

/** An empty folder in which a block runs as pasted text, with programs in place of those on the path. */
export class FakePrograms {
  readonly folder = mkdtempSync(join(tmpdir(), 'tessera-programs-'));

  constructor() {
    mkdirSync(join(this.folder, 'bin'));
    writeFileSync(join(this.folder, 'calls'), '');
  }

  /** Adds a program that records its arguments and runs a line of shell. */
  add(program: string, line = ''): void {
    const path = join(this.folder, 'bin', program);
    writeFileSync(path, `#!/bin/sh\necho "${program} $*" >> "${this.folder}/calls"\n${line}\n`);
    chmodSync(path, 0o755);
  }

  /** The programs that were called, with their arguments, in order. */
  get calls(): string[] {
    return this.read('calls').split('\n').slice(0, -1);
  }

  read(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  /** Runs a block. Rejects when a command fails. */
  run(block: string, environment: Record<string, string> = {}): Promise<string> {
    const variables = Object.entries(environment).map(([name, value]) => `export ${name}='${value}'\n`);
    const input = `${this.#path}${variables.join('')}${block}`;
    return run('bash', ['-euo', 'pipefail', '-s'], { cwd: this.folder, input });
  }

  /** Runs a block in a shell that continues after errors, as a terminal does. Rejects when the last command fails. */
  runIn(shell: string, block: string): Promise<string> {
    return run(shell, ['-s'], { cwd: this.folder, input: `${this.#path}${block}` });
  }

  get #path(): string {
    return `export PATH="${this.folder}/bin:$PATH"\n`;
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
