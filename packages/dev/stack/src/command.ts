import { readEnvironment, type StackEnvironment } from './environment.ts';
import { explainError } from './explain-error.ts';
import { listenForStop, type StopRequest } from './processes/stop-request.ts';

/** The environment, output and stop request of a command. */
export interface CommandContext {
  readonly environment: StackEnvironment;
  /** Prints one line to the terminal. */
  readonly print: (line: string) => void;
  readonly stop: StopRequest;
}

/**
 * Runs a command until it is asked to stop.
 * @returns the exit code: 0 after a requested stop, 1 on a problem, which is printed on standard error
 */
export async function runCommand(run: (context: CommandContext) => Promise<void>): Promise<number> {
  // A closed output (a closed terminal, `| head`) must not end this process before it has stopped its children.
  for (const stream of [process.stdout, process.stderr]) stream.on('error', () => undefined);
  const stop = listenForStop();
  try {
    await run({ environment: readEnvironment(), print: (line) => process.stdout.write(`${line}\n`), stop });
    return 0;
  } catch (error) {
    process.stderr.write(`\n${explainError(error)}\n`);
    return 1;
  } finally {
    stop.dispose();
  }
}
