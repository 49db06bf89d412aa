import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { type Outcome, outcomesSchema, type Target } from './outcome.ts';
import { findPython } from './python.ts';

const execute = promisify(execFile);
const goPath = '/usr/share/gocode';

/** Clients of other languages, from Debian packages. */
interface DebianProgram {
  names: string;
  packages: string;
  /** Returns the command that runs them, or undefined if they are not installed. */
  find: () => Promise<[string, ...string[]] | undefined>;
}

export const debianPrograms: readonly DebianProgram[] = [
  {
    names: 'Authlib and PyJWT',
    packages: 'python3-authlib python3-jwt python3-requests',
    find: async () => {
      const python = findPython('authlib', 'jwt', 'requests');
      return python === undefined ? undefined : [python, pathOf('debian-clients.py')];
    },
  },
  {
    names: 'go-oidc and x/oauth2',
    packages: 'golang-go golang-github-coreos-go-oidc-dev golang-golang-x-oauth2-dev',
    find: async () => {
      const isInstalled = await execute('go', ['version']).then(
        () => existsSync(`${goPath}/src/github.com/coreos/go-oidc`),
        () => false,
      );
      const variables = [`GOPATH=${goPath}`, 'GO111MODULE=off'];
      return isInstalled ? ['env', ...variables, 'go', 'run', pathOf('debian-clients.go')] : undefined;
    },
  },
];

/** Runs the clients that npm installed with this package, outside Jest, which cannot `require` their ES modules. */
export function runNpmClients(target: Target): Promise<Outcome[]> {
  const loader = ['--import', 'tsx', '--conditions=@tessera/source'];
  return runProgram([process.execPath, ...loader, pathOf('npm-clients.ts')], target);
}

/** Runs the clients from Debian that are installed. */
export async function runDebianClients(target: Target): Promise<Outcome[]> {
  const outcomes: Outcome[] = [];
  for (const { find } of debianPrograms) {
    const command = await find();
    if (command !== undefined) outcomes.push(...(await runProgram(command, target)));
  }
  return outcomes;
}

async function runProgram(
  [program, ...args]: [string, ...string[]],
  { issuer, audience, email, password }: Target,
): Promise<Outcome[]> {
  const { stdout } = await execute(program, [...args, issuer, audience, email, password]);
  return outcomesSchema.parse(JSON.parse(stdout));
}

function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
