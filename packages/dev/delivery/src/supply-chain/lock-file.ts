import { parse } from 'yaml';
import { z } from 'zod';

/** A package in the lock file. */
export interface LockedPackage {
  name: string;
  version: string;
  /** The hash that pnpm verifies; undefined for a package that does not come from the registry. */
  integrity: string | undefined;
  /** The deprecation message. */
  deprecated: string | undefined;
  /** The supported versions of Node; undefined if the package declares none. */
  nodeRange: string | undefined;
  /** Whether the package is for one platform and installed only there. */
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

/** Reads all packages of a pnpm-lock.yaml (version 9). @throws for another format */
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
