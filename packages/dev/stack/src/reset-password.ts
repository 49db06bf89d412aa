import { IdentityClient } from '@tessera/client/identity';
import { runCommandLine } from './command-line.ts';
import { readEnvironment } from './environment.ts';
import { findRunningServices } from './services/running-services.ts';
import { createOneTimePassword, findOldest } from './start/first-administrator.ts';

const help = `Usage: npx pnpm@12 reset-password [options]

Sets a one-time password for an account of the running services and prints it. All sessions of the account end. The
password is valid for 24 hours; the sign-in with it asks for another one.

Options:
  --email <address>      The account. Default: the administrator that "start" created.
  --data-dir <path>      The data folder of the running services. Default: TESSERA_DATA_DIR, else .data.
  -h, --help             Print this help.

Environment:
  TESSERA_DATA_DIR       Used when --data-dir is not given.
  SERVICE_TOKEN          identity's service token. Default: the one in the data folder.

Example:
  npx pnpm@12 reset-password --email ada@demo.example
`;

process.exitCode = await runCommandLine({
  name: 'reset-password',
  help,
  options: { email: { type: 'string' }, 'data-dir': { type: 'string' } },
  run: async ({ email, 'data-dir': dataDir }) => {
    try {
      process.stdout.write(await resetPassword(email, dataDir));
      return 0;
    } catch (error) {
      process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
      return 1;
    }
  },
});

/** @returns the text to print */
async function resetPassword(email: string | undefined, dataDir: string | undefined): Promise<string> {
  const environment = readEnvironment();
  const { identityUrl, issuesUrl, serviceToken } = findRunningServices(
    dataDir ?? environment.dataDir ?? '.data',
    environment.passedOn.SERVICE_TOKEN,
  );
  const identity = new IdentityClient({ baseUrl: identityUrl, serviceToken });
  const account = email === undefined ? await findOldest(identity) : await identity.findByEmail(email);
  if (account === undefined || (email === undefined && !account.is_superuser))
    throw new Error('"start" has not created an administrator here: name an account with --email');
  const password = createOneTimePassword();
  await identity.update(account.id, { password, password_is_temporary: true });
  return [
    `The one-time password of ${account.email} is ${password}`,
    `Sign in with it at ${issuesUrl}/sign-in within 24 hours, and choose another one there.`,
    '',
  ].join('\n');
}
