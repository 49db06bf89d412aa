import { existsSync, lstatSync, readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { z } from 'zod';
import { idOf } from './lock-file.ts';

/** A package in node_modules. */
export interface InstalledPackage {
  name: string;
  version: string;
  /** The declared licence: an SPDX expression, other text, or undefined. */
  licence: string | undefined;
  /** Whether the package has install scripts. */
  hasInstallScript: boolean;
  /** The names of its optional dependencies, most of which are builds for other platforms. */
  optionalDependencies: readonly string[];
}

const manifestSchema = z.object({
  name: z.string(),
  version: z.string(),
  // A string; in old packages an object or a list of objects.
  license: z.union([z.string(), z.object({ type: z.string() }).transform(({ type }) => type)]).optional(),
  licenses: z.array(z.object({ type: z.string() })).optional(),
  // npm runs none of a list, which an old package has.
  scripts: z
    .union([
      z.record(z.string(), z.string()),
      z.array(z.string()).transform((): Record<string, string> => ({})),
    ])
    .optional(),
  optionalDependencies: z.record(z.string(), z.string()).optional(),
});

/** All packages in pnpm's virtual store, by `name@version`. */
export function readInstalledPackages(root: string): Map<string, InstalledPackage> {
  const store = path.join(root, 'node_modules/.pnpm');
  const folders = readdirSync(store).flatMap((entry) =>
    packageFolders(path.join(store, entry, 'node_modules')),
  );
  const packages = folders.map(readPackage);
  return new Map(packages.map((one) => [idOf(one), one]));
}

// The package's own folder; its dependencies are symbolic links beside it.
function packageFolders(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder)
    .flatMap((name) =>
      name.startsWith('@')
        ? readdirSync(path.join(folder, name)).map((rest) => path.join(name, rest))
        : [name],
    )
    .map((name) => path.join(folder, name))
    .filter((one) => lstatSync(one).isDirectory() && existsSync(path.join(one, 'package.json')));
}

function readPackage(folder: string): InstalledPackage {
  const manifest = manifestSchema.parse(JSON.parse(readFileSync(path.join(folder, 'package.json'), 'utf8')));
  const { name, version, license, licenses, scripts = {}, optionalDependencies = {} } = manifest;
  const declared = license ?? licenses?.map(({ type }) => type).join(' OR ');
  return {
    name,
    version,
    licence: declared === '' ? undefined : declared,
    hasInstallScript:
      ['preinstall', 'install', 'postinstall'].some((script) => script in scripts) ||
      existsSync(path.join(folder, 'binding.gyp')),
    optionalDependencies: Object.keys(optionalDependencies),
  };
}
