import { runCommandLine } from '@tessera/stack/command-line';
import { buildBothServices } from '@tessera/stack/turbo';

const help = `Usage: npx pnpm@12 clients [options]

Builds both services and runs standard OAuth clients against identity, with the default settings and with
TOKEN_ENDPOINT_REFRESH=on and ACCESS_TOKEN_TYP=JWT: discovery, sign-in, refresh, and verification of tokens. Prints the
table of docs/identity/clients.md. The clients from npm always run; Authlib, PyJWT and go-oidc run if Debian's packages
are installed.

Options:
  --write      Write the table to docs/identity/clients.md; requires all clients.
  -h, --help   Print this help.

Environment:
  TEST_DATABASE_URL   URL of a PostgreSQL superuser, to use that server instead of an embedded one.

Exit code 1 if a client's results differ from the README, or if --write lacks a client. Exit code 2 for an invalid
command line.

Example:
  npx pnpm@12 clients --write
`;

process.exitCode = await runCommandLine({
  name: 'clients',
  help,
  options: { write: { type: 'boolean', default: false } },
  run: async ({ write }) => {
    const built = await buildBothServices();
    if (built !== 0) return built;
    const { reportClients } = await import('./clients/report-clients.ts');
    return (await reportClients({ write })) ? 0 : 1;
  },
});
