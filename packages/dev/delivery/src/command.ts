import { spawn } from 'node:child_process';

interface CommandOptions {
  cwd?: string;
  input?: string;
  /** Whether the output is also printed as it comes. */
  show?: boolean;
}

/** Runs a program. Resolves with its standard output; rejects with its output when it fails. */
export function run(program: string, args: readonly string[], options: CommandOptions = {}): Promise<string> {
  const { cwd, input, show = false } = options;
  const child = spawn(program, args, { cwd });
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += chunk.toString();
    if (show) process.stdout.write(chunk);
  });
  child.stderr.on('data', (chunk: Buffer) => {
    errors += chunk.toString();
    if (show) process.stderr.write(chunk);
  });
  // A program may end before it has read its input. Its exit code reports whether that is a failure.
  child.stdin.on('error', () => undefined);
  child.stdin.end(input);
  return new Promise((resolve, reject) => {
    child.once('error', reject);
    child.once('close', (code) => {
      if (code === 0) resolve(output);
      else reject(new Error(`${program} ${args.join(' ')} ended with ${code}\n${output}${errors}`));
    });
  });
}
