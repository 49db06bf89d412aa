import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';

/** Runs a script of this folder as a process until it exits; kills it after four minutes, which a slow machine does not need. */
export async function runScript(
  file: string,
  ...parameters: string[]
): Promise<{ code: number | null; output: string; errors: string }> {
  const path = fileURLToPath(new URL(file, import.meta.url));
  const child = spawn(
    process.execPath,
    ['--expose-gc', '--import', 'tsx', '--conditions=@tessera/source', path, ...parameters],
    { stdio: ['ignore', 'pipe', 'pipe'], timeout: 240_000, killSignal: 'SIGKILL' },
  );
  let output = '';
  let errors = '';
  child.stdout.on('data', (chunk) => {
    output += chunk;
  });
  child.stderr.on('data', (chunk) => {
    errors += chunk;
  });
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once('error', reject);
    child.once('close', resolve);
  });
  return { code, output, errors };
}
