import { readEnvironment, type StackEnvironment } from './environment.ts';
import { explainError } from './explain-error.ts';
import { listenForStop, type StopRequest } from './processes/stop-request.ts';

/** What every command of this package works with. */
export interface CommandContext {
  readonly environment: StackEnvironment;
  /** Tells the person at the terminal one line. */
  readonly say: (line: string) => void;
  readonly stop: StopRequest;
}

/**
 * Runs a command that lasts until it is asked to stop.
 * @returns the exit code: 0 when asked to stop, 1 on a problem, which is told on standard error
 */
export async function runCommand(run: (context: CommandContext) => Promise<void>): Promise<number> {
  // A reader that is gone (a closed terminal, `| head`) must not end us before we have stopped what we started.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stop = listenForStop();
  try {
    await run({ environment: readEnvironment(), say: (line) => process.stdout.write(`${line}\n`), stop });
    return 0;
  } catch (error) {
    process.stderr.write(`\n${explainError(error)}\n`);
    return 1;
  } finally {
    stop.dispose();
  }
}
