import { parse } from 'yaml';
import { z } from 'zod';

/** A package as the lock file names it. */
export interface LockedPackage {
  name: string;
  version: string;
  /** The hash that an installation verifies; absent for what comes from elsewhere than the registry. */
  integrity: string | undefined;
  /** What its authors say instead of maintaining it. */
  deprecated: string | undefined;
  /** The versions of Node that it supports; undefined when it does not say. */
  nodeRange: string | undefined;
  /** For one operating system or processor: it is installed there alone. */
  isPlatformBuild: boolean;
}

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      resolution: z.object({ integrity: z.string().optional() }),
      deprecated: z.string().optional(),
      engines: z.object({ node: z.string().optional() }).optional(),
      os: z.array(z.string()).optional(),
      cpu: z.array(z.string()).optional(),
      libc: z.array(z.string()).optional(),
    }),
  ),
});

/** Every package of a pnpm-lock.yaml (version 9). Throws for a file of another shape. */
export function readLockFile(text: string): LockedPackage[] {
  const { packages } = lockSchema.parse(parse(text));
  return Object.entries(packages).map(([key, { resolution, deprecated, engines, os, cpu, libc }]) => {
    const at = key.indexOf('@', 1);
    return {
      name: key.slice(0, at),
      version: key.slice(at + 1),
      integrity: resolution.integrity,
      deprecated,
      nodeRange: engines?.node,
      isPlatformBuild: os !== undefined || cpu !== undefined || libc !== undefined,
    };
  });
}

/** `name@version` */
export function idOf({ name, version }: Pick<LockedPackage, 'name' | 'version'>): string {
  return `${name}@${version}`;
}
