import { minVersion } from 'semver';
import { parse } from 'yaml';
import { z } from 'zod';
import { readRepositoryFile, rootDir } from '../repository.ts';
import { readInstalledPackages } from './installed-packages.ts';
import { readLockFile } from './lock-file.ts';
import { policySchema } from './policy.ts';
import type { SupplyChain } from './violations.ts';

/** Reads this repository's locked and installed packages, pnpm settings and policy from files. */
export function readSupplyChain(): SupplyChain {
  const settings = z
    .object({ allowBuilds: z.record(z.string(), z.boolean()), overrides: z.record(z.string(), z.string()) })
    .parse(parse(readRepositoryFile('pnpm-workspace.yaml')));
  const manifest = z
    .object({ engines: z.object({ node: z.string() }) })
    .parse(JSON.parse(readRepositoryFile('package.json')));
  return {
    locked: readLockFile(readRepositoryFile('pnpm-lock.yaml')),
    installed: readInstalledPackages(rootDir),
    ...settings,
    oldestNode: String(minVersion(manifest.engines.node)),
    policy: policySchema.parse(JSON.parse(readRepositoryFile('packages/dev/delivery/policy.json'))),
  };
}
