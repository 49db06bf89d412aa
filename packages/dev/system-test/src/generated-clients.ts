import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { runCommandLine, UsageError } from '@tessera/stack/command-line';

/**
 * The arguments of each generator for a document and a folder. The pinned versions run on Node 20. By default,
 * openapi-typescript would require the members of requests that have a default.
 */
const generators: Record<string, (document: string, folder: string) => string[]> = {
  'openapi-typescript': (document, folder) => [
    'openapi-typescript',
    '--default-non-nullable=false',
    document,
    '-o',
    `${folder}/types.ts`,
  ],
  orval: (document, folder) => [
    'orval',
    '--client',
    'fetch',
    '--input',
    document,
    '--output',
    `${folder}/client.ts`,
  ],
  'hey-api': (document, folder) => ['openapi-ts', '-i', document, '-o', folder],
};
const packages = ['openapi-typescript@7.13.0', 'orval@7.13.2', '@hey-api/openapi-ts@0.95.0'];
// The generators do not run with the repository's TypeScript 7.
const compiler = 'typescript@5.9.3';

const compilerOptions = {
  strict: true,
  noUncheckedIndexedAccess: true,
  skipLibCheck: false,
  noEmit: true,
  target: 'es2023',
  module: 'esnext',
  moduleResolution: 'bundler',
  lib: ['es2023', 'dom', 'dom.iterable'],
  types: [],
};

const help = `Usage: npx pnpm@12 generated-clients [options]

Generates clients of both OpenAPI documents, compiles them under strict with TypeScript 5, and compiles a file of mistakes
with each, in which every mistake must be reported. Installs the generators with npm into a temporary folder, which takes
about a minute and 160 MB.

Options:
  --only <generator>   One of ${Object.keys(generators).join(', ')}. Default: all.
  --folder <path>      Use this folder and keep it. Default: a temporary folder, which is removed.
  -h, --help           Print this help.

Environment:
  npm_config_*         Settings of npm, such as npm_config_registry.

Exit code 1 if a client does not compile or a mistake compiles, 2 for an invalid command line.

Example:
  npx pnpm@12 generated-clients --only orval --folder /tmp/clients
`;

const sources = fileURLToPath(new URL('../generated-clients/', import.meta.url));
const documents = fileURLToPath(new URL('../../../contracts/openapi/', import.meta.url));
const run = promisify(execFile);

process.exitCode = await runCommandLine({
  name: 'generated-clients',
  help,
  options: { only: { type: 'string' }, folder: { type: 'string' } },
  run: async ({ only, folder: given }) => {
    if (only !== undefined && generators[only] === undefined)
      throw new UsageError(`--only must be one of ${Object.keys(generators).join(', ')}`);
    const folder = given ?? mkdtempSync(join(tmpdir(), 'tessera-clients-'));
    try {
      return await generateAll(
        folder,
        Object.entries(generators).filter(([name]) => only === undefined || name === only),
      );
    } finally {
      if (given === undefined) rmSync(folder, { recursive: true });
    }
  },
});

async function generateAll(
  folder: string,
  chosen: [string, (document: string, folder: string) => string[]][],
): Promise<number> {
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, 'package.json'), '{"private":true,"type":"module"}\n');
  await run('npm', ['install', '--no-audit', '--no-fund', compiler, ...packages], { cwd: folder });
  const mistakes = readFileSync(join(sources, 'mistakes.ts'), 'utf8').split('// @ts-expect-error').length - 1;
  let failures = 0;
  for (const [name, argumentsOf] of chosen) {
    const output = join(folder, name);
    for (const api of ['identity', 'issues']) {
      mkdirSync(join(output, api), { recursive: true });
      const args = argumentsOf(join(documents, `${api}.json`), join(output, api));
      await run('npx', ['--no-install', ...args], { cwd: folder });
    }
    copyFileSync(join(sources, 'mistakes.ts'), join(output, 'mistakes.ts'));
    copyFileSync(join(sources, `${name}.ts`), join(output, 'types.ts'));
    writeFileSync(join(output, 'tsconfig.json'), JSON.stringify({ compilerOptions, include: ['.'] }));
    const errors = await compile(folder, output);
    if (errors !== '') failures += 1;
    process.stdout.write(
      errors === ''
        ? `${name}: both clients compile, and each of ${mistakes} mistakes is reported\n`
        : `${name}: unexpected result of the compiler\n${errors}\n`,
    );
  }
  return failures === 0 ? 0 : 1;
}

/** Returns the errors of the compiler. A mistake that compiles is one of them (TS2578). */
async function compile(folder: string, project: string): Promise<string> {
  try {
    await run('npx', ['--no-install', 'tsc', '-p', project], { cwd: folder });
    return '';
  } catch (error) {
    return typeof error === 'object' && error !== null && 'stdout' in error
      ? String(error.stdout)
      : String(error);
  }
}
