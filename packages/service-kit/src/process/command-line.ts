import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;
type OptionValues<Own extends Options> = ReturnType<
  typeof parseArgs<{ options: Own; strict: true; allowPositionals: true }>
>['values'];

/** An invalid command line; the message names the option or argument. */
export class UsageError extends Error {
  override readonly name = 'UsageError';
}

interface Command<Own extends Options> {
  /** The command as it is typed, such as `node dist/migrate.js`. */
  readonly name: string;
  /** The text that `--help` and `-h` print. */
  readonly help: string;
  /** The options besides `--help`. */
  readonly options: Own;
  /** Whether the command accepts positional arguments. Default: false. */
  readonly allowPositionals?: boolean;
  /** Returns the exit code. */
  readonly run: (values: OptionValues<Own>, positionals: readonly string[]) => number | Promise<number>;
}

/**
 * Runs a command with its arguments and returns the exit code: 0 for `--help`, which runs nothing, and 2 for an unknown
 * option, also beside `--help`, a stray argument or a `UsageError`.
 */
export async function runCommandLine<Own extends Options>(
  { name, help, options, allowPositionals = false, run }: Command<Own>,
  args: readonly string[],
): Promise<number> {
  try {
    if (args.includes('--help') || args.includes('-h')) {
      parse({ ...options, help: { type: 'boolean', short: 'h' } }, args);
      process.stdout.write(help);
      return 0;
    }
    const { values, positionals } = parse(options, args);
    const [stray] = positionals;
    if (stray !== undefined && !allowPositionals) throw new UsageError(`Unexpected argument '${stray}'`);
    return await run(values, positionals);
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${error.message}. See "${name} --help".\n`);
    return 2;
  }
}

function parse<Own extends Options>(options: Own, args: readonly string[]) {
  try {
    return parseArgs({
      args: [...args],
      options,
      strict: true,
      allowPositionals: true,
    });
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    // Node appends advice to the first sentence.
    throw new UsageError(message.split(/\.(?=\s|$)|\n/)[0], { cause: error });
  }
}
