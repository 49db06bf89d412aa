import { readFileSync } from 'node:fs';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse } from 'yaml';
import { z } from 'zod';
import { readInstalledPackages } from './installed-packages.ts';
import { readLockFile } from './lock-file.ts';
import { policySchema } from './policy.ts';
import type { SupplyChain } from './violations.ts';

const here = fileURLToPath(new URL('..', import.meta.url));
const root = path.join(here, '../../..');

/** This repository's own: what is locked and installed, pnpm's settings, and the policy. Reads files, and no network. */
export function readSupplyChain(): SupplyChain {
  const settings = parse(readFileSync(path.join(root, 'pnpm-workspace.yaml'), 'utf8'));
  return {
    locked: readLockFile(readFileSync(path.join(root, 'pnpm-lock.yaml'), 'utf8')),
    installed: readInstalledPackages(root),
    allowBuilds: z.object({ allowBuilds: z.record(z.string(), z.boolean()) }).parse(settings).allowBuilds,
    policy: policySchema.parse(JSON.parse(readFileSync(path.join(here, 'policy.json'), 'utf8'))),
  };
}
