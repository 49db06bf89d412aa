import { runCommandLine } from './command-line.ts';
import { runTurbo } from './turbo.ts';

const help = `Usage: npx pnpm@12 dev

Runs both services from source on an embedded PostgreSQL and restarts a service when its source or a package that it
uses changes. Logs go to the terminal. Ctrl-C stops everything. The command uses the data folder of "start", so only one
of the two runs at a time. It runs "turbo run dev", which you may run yourself with turbo's options.

Options:
  -h, --help                     Print this help.

Environment:
  IDENTITY_PORT, ISSUES_PORT     Ports of the services. Default: 3001, 3002.
  TESSERA_DATA_DIR               The data folder. Default: .data.
  TESSERA_POSTGRES_PORT          Port of the embedded PostgreSQL. Default: a free port.
  IDENTITY_DATABASE_URL,
  ISSUES_DATABASE_URL            Databases to use instead of the embedded ones.
  Every other variable is passed on to the services.

Example:
  LOG_LEVEL=debug npx pnpm@12 dev
`;

process.exitCode = await runCommandLine({
  name: 'dev',
  help,
  options: {},
  run: () => runTurbo(['run', 'dev']),
});
