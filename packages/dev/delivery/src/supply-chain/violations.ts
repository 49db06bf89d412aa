import { satisfies } from 'semver';
import satisfiesLicence from 'spdx-satisfies';
import type { InstalledPackage } from './installed-packages.ts';
import { idOf, type LockedPackage } from './lock-file.ts';
import type { Policy } from './policy.ts';

/** The dependencies, and the policy for them. */
export interface SupplyChain {
  locked: readonly LockedPackage[];
  installed: ReadonlyMap<string, InstalledPackage>;
  /** pnpm's `allowBuilds`: packages whose install scripts run (true) or do not run (false). */
  allowBuilds: Readonly<Record<string, boolean>>;
  /** pnpm's `overrides`: versions in place of those that packages ask for; `-` removes a dependency. */
  overrides: Readonly<Record<string, string>>;
  /** The oldest version of Node that the product supports, such as `20.19.0`. */
  oldestNode: string;
  policy: Policy;
}

/** Violations of the policy, and policy entries without a matching package, one line each. */
export function findViolations(chain: SupplyChain): string[] {
  return [
    ...findForeign(chain),
    ...findMissing(chain),
    ...findUnlockedBuilds(chain),
    ...findDeprecated(chain),
    ...findUnsupportedNode(chain),
    ...findInstallScripts(chain),
    ...findLicences(chain),
  ].sort();
}

function findForeign({ locked }: SupplyChain): string[] {
  return locked
    .filter(({ integrity }) => integrity === undefined)
    .map((one) => `${idOf(one)} has no hash in the lock file, so it does not come from the registry`);
}

// A package that is not installed cannot be checked; packages for other platforms are not installed.
function findMissing({ locked, installed }: SupplyChain): string[] {
  return locked
    .filter((one) => !one.isPlatformBuild && !installed.has(idOf(one)))
    .map((one) => `${idOf(one)} is not installed: run pnpm install`);
}

// pnpm leaves out an optional package that it cannot read when it resolves. Machines of that platform would lack it.
function findUnlockedBuilds({ locked, installed, overrides }: SupplyChain): string[] {
  const names = new Set(locked.map(({ name }) => name));
  return [...installed.values()].flatMap((one) =>
    one.optionalDependencies
      .filter((name) => !names.has(name) && overrides[`${one.name}>${name}`] !== '-')
      .map((name) => `${name} of ${idOf(one)} is not in the lock file: run pnpm install --fix-lockfile`),
  );
}

function findDeprecated({ locked, policy }: SupplyChain): string[] {
  const deprecated = locked.filter((one) => one.deprecated !== undefined);
  const ids = new Set(deprecated.map(idOf));
  return [
    ...deprecated
      .filter((one) => policy.deprecated[idOf(one)] === undefined)
      .map(
        (one) => `${idOf(one)} is deprecated (${one.deprecated}), and the policy gives no reason to keep it`,
      ),
    ...Object.keys(policy.deprecated)
      .filter((id) => !ids.has(id))
      .map((id) => `the policy allows the deprecated ${id}, which is not locked or not deprecated`),
  ];
}

function findUnsupportedNode({ locked, oldestNode }: SupplyChain): string[] {
  return locked.flatMap((one) =>
    one.nodeRange === undefined || satisfies(oldestNode, one.nodeRange)
      ? []
      : [`${idOf(one)} requires Node ${one.nodeRange}, which excludes ${oldestNode}`],
  );
}

function findInstallScripts({ locked, installed, allowBuilds, policy }: SupplyChain): string[] {
  const names = new Set(locked.map(({ name }) => name));
  const allowed = Object.keys(allowBuilds).filter((name) => allowBuilds[name] === true);
  const reasons = Object.keys(policy.installScripts);
  const present = locked.flatMap((one) => installed.get(idOf(one)) ?? []);
  return [
    ...present
      .filter(({ name, hasInstallScript }) => hasInstallScript && allowBuilds[name] === undefined)
      .map((one) => `${idOf(one)} has an install script and is not named in allowBuilds`),
    ...Object.keys(allowBuilds)
      .filter((name) => !names.has(name))
      .map((name) => `allowBuilds names ${name}, which is not locked`),
    ...allowed
      .filter((name) => !reasons.some((pattern) => covers(pattern, name)))
      .map((name) => `the policy gives no reason for the install script of ${name}`),
    ...reasons
      .filter((pattern) => !allowed.some((name) => covers(pattern, name)))
      .map(
        (pattern) =>
          `the policy gives a reason for install scripts of ${pattern}, which allowBuilds does not run`,
      ),
  ];
}

function covers(pattern: string, name: string): boolean {
  return pattern.endsWith('*') ? name.startsWith(pattern.slice(0, -1)) : name === pattern;
}

function findLicences({ locked, installed, policy }: SupplyChain): string[] {
  const { licences, licenceExceptions } = policy;
  const present = locked.flatMap((one) => installed.get(idOf(one)) ?? []);
  const unusual = present.filter(({ licence }) => !isAllowed(licence, licences));
  const isExcepted = ({ name, licence }: InstalledPackage) =>
    licenceExceptions[name] !== undefined && licenceExceptions[name].declared === (licence ?? null);
  const used = new Set(unusual.filter(isExcepted).map(({ name }) => name));
  // Exceptions for packages of other platforms cannot be checked on this platform.
  const elsewhere = new Set(locked.filter((one) => !installed.has(idOf(one))).map(({ name }) => name));
  return [
    ...unusual
      .filter((one) => !isExcepted(one))
      .map((one) => `${idOf(one)} has the licence ${one.licence ?? '(none declared)'}, which is not allowed`),
    ...Object.keys(licenceExceptions)
      .filter((name) => !used.has(name) && !elsewhere.has(name))
      .map((name) => `the policy has an unused licence exception for ${name}`),
  ];
}

function isAllowed(licence: string | undefined, allowed: string[]): boolean {
  if (licence === undefined) return false;
  try {
    return satisfiesLicence(licence, allowed);
  } catch {
    // Not an SPDX expression.
    return false;
  }
}
