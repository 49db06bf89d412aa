import { type ParseArgsConfig, parseArgs } from 'node:util';

type Options = NonNullable<ParseArgsConfig['options']>;

/** The values of a command's options, as `parseArgs` returns them. */
export type OptionValues<Own extends Options> = ReturnType<
  typeof parseArgs<{ options: Own; strict: true; allowPositionals: false }>
>['values'];

/** A command line that the command cannot run; the message names the option. */
export class UsageError extends Error {}

export interface Command<Own extends Options> {
  /** The name of the root script. */
  readonly name: string;
  /** The text that `--help` prints. */
  readonly help: string;
  /** The options besides `--help`. */
  readonly options: Own;
  /** @returns the exit code */
  readonly run: (values: OptionValues<Own>) => Promise<number>;
}

/**
 * Runs a command of the root `package.json`. `--help` and `-h` print the help and run nothing.
 * @returns the exit code: 2 for a command line with an unknown option, a stray argument or an invalid value
 */
export async function runCommandLine<Own extends Options>(
  { name, help, options, run }: Command<Own>,
  args: readonly string[] = process.argv.slice(2),
): Promise<number> {
  try {
    if (isHelpRequested(args)) {
      parseOptions({ ...options, help: { type: 'boolean', short: 'h' } }, args);
      process.stdout.write(help);
      return 0;
    }
    return await run(parseOptions(options, args));
  } catch (error) {
    if (!(error instanceof UsageError)) throw error;
    process.stderr.write(`${name}: ${error.message}. See "npx pnpm@12 ${name} --help".\n`);
    return 2;
  }
}

/** @throws UsageError for an unknown option, a stray argument or a missing value */
export function parseOptions<Own extends Options>(options: Own, args: readonly string[]): OptionValues<Own> {
  try {
    // pnpm passes the `--` of `pnpm start -- --option` on to the command.
    return parseArgs({ args: args[0] === '--' ? args.slice(1) : [...args], options, allowPositionals: false })
      .values;
  } catch (error) {
    // Node appends advice to the first sentence.
    const [problem = ''] = messageOf(error).split(/\.(?=\s|$)|\n/);
    throw new UsageError(problem);
  }
}

// `instanceof Error` would fail for Node's errors under Jest, which come from another realm.
function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message)
    : String(error);
}

function isHelpRequested(args: readonly string[]): boolean {
  return args.includes('--help') || args.includes('-h');
}
