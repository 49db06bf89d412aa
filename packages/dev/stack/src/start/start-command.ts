import { parseArgs } from 'node:util';
import { runCommand } from '../command.ts';
import { runProduct } from './launcher.ts';

const USAGE = `Usage: npx pnpm@12 start

Builds Tessera and runs it on this machine: an embedded PostgreSQL and every service, until Ctrl-C.
What it remembers (database, keys, service token, logs) lies in .data.

Environment:
  IDENTITY_PORT, ISSUES_PORT   ports of the services (3001, 3002)
  TESSERA_DATA_DIR             another data folder
  TESSERA_POSTGRES_PORT        a fixed port for PostgreSQL (default: a free one)
  IDENTITY_DATABASE_URL, ISSUES_DATABASE_URL
                               databases to use instead of the embedded one
  and every variable of the services, which is passed on to them`;

/**
 * The command behind the root script `start`.
 * @returns the exit code: 0 when asked to stop, 1 on a problem (told on standard error), 2 on wrong arguments
 */
export async function runStartCommand(args: readonly string[], rootDir: string): Promise<number> {
  const { help, problem } = readArguments(args);
  if (problem !== undefined) {
    process.stderr.write(`${problem}\n\n${USAGE}\n`);
    return 2;
  }
  if (help) {
    process.stdout.write(`${USAGE}\n`);
    return 0;
  }
  return await runCommand((context) => runProduct({ rootDir, ...context }));
}

function readArguments(args: readonly string[]): { help: boolean; problem?: string } {
  try {
    // `pnpm start -- --help` hands on the two dashes too.
    const given = args[0] === '--' ? args.slice(1) : [...args];
    const { values } = parseArgs({ args: given, options: { help: { type: 'boolean', short: 'h' } } });
    return { help: values.help === true };
  } catch (error) {
    return { help: false, problem: error instanceof Error ? error.message : String(error) };
  }
}
