import { runCommandLine } from '../command-line.ts';

const help = `Usage: npx pnpm@12 start

Builds Tessera and runs it on this machine: an embedded PostgreSQL and both services, until Ctrl-C. The database, keys,
service token and logs are kept in the data folder and reused by the next start. If there is no identity yet, it creates
an administrator for the web app and prints a one-time password at the end. It is valid for 24 hours, and the first
sign-in asks for another one.

Options:
  --tour                         Print commands to try next, for a shell with curl and node.
  -h, --help                     Print this help.

Environment:
  IDENTITY_PORT, ISSUES_PORT     Ports of the services. Default: 3001, 3002.
  TESSERA_DATA_DIR               The data folder. Default: .data.
  TESSERA_POSTGRES_PORT          Port of the embedded PostgreSQL. Default: a free port.
  IDENTITY_DATABASE_URL,
  ISSUES_DATABASE_URL            Databases to use instead of the embedded ones.
  Every other variable is passed on to the services.

Exit codes: 0 after a requested stop, 1 on a problem, 2 for an invalid command line.

Example:
  IDENTITY_PORT=4001 ISSUES_PORT=4002 TESSERA_DATA_DIR=/tmp/tessera npx pnpm@12 start
`;

/**
 * The command behind the root script `start`.
 * @returns the exit code, as the help lists them
 */
export async function runStartCommand(args: readonly string[], rootDir: string): Promise<number> {
  return runCommandLine(
    {
      name: 'start',
      help,
      options: { tour: { type: 'boolean' } },
      run: async ({ tour = false }) => {
        const [{ runCommand }, { runProduct }] = await Promise.all([
          import('../command.ts'),
          import('./launcher.ts'),
        ]);
        return runCommand((context) => runProduct({ rootDir, withTour: tour, ...context }));
      },
    },
    args,
  );
}
