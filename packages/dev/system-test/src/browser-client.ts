import { existsSync } from 'node:fs';
import { runCommandLine, UsageError } from '@tessera/stack/command-line';
import { runTurbo } from '@tessera/stack/turbo';

const help = `Usage: npx pnpm@12 browser-client [options]

Installs the tarballs of the client with npm into a temporary folder, bundles a page for browsers, and runs it in Chromium
against both services: it signs in, and creates, lists, changes and follows an issue. Prints the results; also that of a
page whose origin is not in CORS_ORIGINS, and of a page that loads the client of identity.

Options:
  --chromium <path>   Path of Chromium. Default: /usr/bin/chromium, Debian's package.
  -h, --help          Print this help.

Environment:
  TEST_DATABASE_URL   URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 1 if a result differs, 2 for an invalid command line.

Example:
  npx pnpm@12 browser-client
`;

process.exitCode = await runCommandLine({
  name: 'browser-client',
  help,
  options: { chromium: { type: 'string', default: '/usr/bin/chromium' } },
  run: async ({ chromium }) => {
    if (!existsSync(chromium)) throw new UsageError(`${chromium} does not exist: apt-get install chromium`);
    const packages = ['identity', 'issues', 'client', 'jwt-verify'].map(
      (name) => `--filter=@tessera/${name}`,
    );
    const built = await runTurbo(['run', 'build', ...packages, '--output-logs=errors-only']);
    if (built !== 0) return built;
    const { runInChromium } = await import('./packages/browser-run.ts');
    return (await runInChromium(chromium)) ? 0 : 1;
  },
});
