import { execFile } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseCodeBlocks } from '@tessera/delivery/code-blocks';
import { build } from 'esbuild';

const packageRoot = fileURLToPath(new URL('../../', import.meta.url));

/** The packages that other projects install. */
export const publishedPackages = ['contracts', 'jwt-verify', 'client'] as const;

/** Returns the path of an executable of this package's dependencies. */
export const tool = (name: string) => join(packageRoot, 'node_modules', '.bin', name);

/** Writes the tarballs of the built packages to the folder. @returns their paths */
export async function packPackages(folder: string): Promise<string[]> {
  const filters = publishedPackages.map((name) => `--filter=@tessera/${name}`);
  await run('npx', ['--yes', 'pnpm@12', ...filters, 'pack', '--pack-destination', folder], packageRoot);
  return readdirSync(folder)
    .filter((file) => file.endsWith('.tgz'))
    .map((file) => join(folder, file));
}

/** Creates a project with the programs in `consumer/` and installs the packages with npm. */
export async function installPackages(project: string, packages: readonly string[]): Promise<void> {
  mkdirSync(project);
  writeFileSync(join(project, 'package.json'), '{ "private": true, "type": "module" }');
  const options = ['--no-audit', '--no-fund', '--ignore-scripts', '--prefer-offline'];
  await run('npm', ['install', ...options, ...packages], project);
  cpSync(join(packageRoot, 'consumer'), project, { recursive: true });
}

/**
 * Writes the programs in the READMEs of the installed packages into the folder `snippets` of the project. A block with imports is a
 * file, which the blocks after it continue.
 */
export function writeSnippets(project: string): void {
  const folder = join(project, 'snippets');
  mkdirSync(folder);
  for (const name of publishedPackages) {
    const readme = readFileSync(join(project, 'node_modules', '@tessera', name, 'README.md'), 'utf8');
    const programs: string[] = [];
    for (const { language, text } of parseCodeBlocks(readme)) {
      if (!/^(ts|js|typescript|javascript)$/.test(language)) continue;
      if (text.startsWith('import ')) programs.push(text);
      else programs.push(`${programs.pop() ?? ''}\n${text}`);
    }
    for (const [number, text] of programs.entries())
      writeFileSync(join(folder, `${name}-${number}.ts`), text);
  }
}

/** Bundles a module for browsers as the global `bundle`. `inputs`: the bundled files, relative to the project. */
export async function bundleForBrowsers(
  project: string,
  contents: string,
): Promise<{ code: string; inputs: string[] }> {
  const { outputFiles, metafile } = await build({
    stdin: { contents, resolveDir: project },
    absWorkingDir: project,
    bundle: true,
    format: 'iife',
    globalName: 'bundle',
    platform: 'browser',
    metafile: true,
    write: false,
  });
  return { code: outputFiles.map(({ text }) => text).join(), inputs: Object.keys(metafile.inputs) };
}

/** Runs a command. @throws with its output if it fails */
export function run(command: string, args: readonly string[], cwd: string): Promise<string> {
  return new Promise((resolve, reject) => {
    execFile(command, args, { cwd }, (error, stdout, stderr) => {
      if (error === null) resolve(stdout);
      else reject(new Error(`${basename(command)} failed:\n${stdout}\n${stderr}`, { cause: error }));
    });
  });
}
