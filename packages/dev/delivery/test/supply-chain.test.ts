import { describe, expect, it } from '@jest/globals';
import { satisfies } from 'semver';
import type { InstalledPackage } from '../src/supply-chain/installed-packages.ts';
import { writeLicenceReport } from '../src/supply-chain/licence-report.ts';
import { readLockFile } from '../src/supply-chain/lock-file.ts';
import type { Policy } from '../src/supply-chain/policy.ts';
import { readSupplyChain } from '../src/supply-chain/supply-chain.ts';
import { findViolations, type SupplyChain } from '../src/supply-chain/violations.ts';

describe("this repository's dependencies", () => {
  const chain = readSupplyChain();

  it('comply with the policy, and the policy has no unused entries', () => {
    expect(findViolations(chain)).toEqual([]);
  });

  it('run on Node 20.19.0', () => {
    expect(chain.oldestNode).toBe('20.19.0');
    const ranges = chain.locked.flatMap(({ nodeRange }) => nodeRange ?? []);
    expect(ranges.length).toBeGreaterThan(300);
    expect(ranges.filter((range) => !satisfies('20.19.0', range))).toEqual([]);
  });

  it('include the packages of the services', () => {
    const names = new Set(chain.locked.map(({ name }) => name));
    for (const name of ['express', 'zod', 'pg', 'bcrypt', '@prisma/client']) expect(names).toContain(name);
    expect(chain.installed.size).toBeGreaterThan(300);
  });

  it('are listed by licence', () => {
    const report = writeLicenceReport(chain);
    expect(report).toMatch(/^## MIT$/m);
    expect(report).toMatch(/^- express@\d/m);
  });
});

const lockFile = `
lockfileVersion: '9.0'
packages:
  'good@1.0.0':
    resolution: {integrity: sha512-a}
  '@scope/old@2.0.0':
    resolution: {integrity: sha512-b}
    deprecated: use another
  'builds@3.0.0':
    resolution: {integrity: sha512-c}
    engines: {node: ^18 || >=20.1}
  'elsewhere@1.2.3':
    resolution: {integrity: sha512-d}
    os: [plan9]
`;

function installed(name: string, version: string, details: Partial<InstalledPackage> = {}): InstalledPackage {
  return { name, version, licence: 'MIT', hasInstallScript: false, optionalDependencies: [], ...details };
}

const packages = [
  installed('good', '1.0.0'),
  installed('@scope/old', '2.0.0'),
  installed('builds', '3.0.0', { hasInstallScript: true }),
];

const policy: Policy = {
  licences: ['MIT', 'ISC'],
  licenceExceptions: {},
  deprecated: { '@scope/old@2.0.0': 'There is no other one yet.' },
  installScripts: { 'builds*': 'Compiles what it needs.' },
};

function violations(changes: Partial<SupplyChain> & { having?: InstalledPackage } = {}): string[] {
  const { having, ...rest } = changes;
  const all =
    having === undefined ? packages : [...packages.filter(({ name }) => name !== having.name), having];
  return findViolations({
    locked: readLockFile(lockFile),
    installed: new Map(all.map((one) => [`${one.name}@${one.version}`, one])),
    allowBuilds: { builds: true },
    overrides: {},
    oldestNode: '20.19.0',
    policy,
    ...rest,
  });
}

describe('findViolations', () => {
  it('accepts dependencies with reasons', () => {
    expect(violations()).toEqual([]);
  });

  it('reports a deprecated package without a reason, and a reason without a deprecated package', () => {
    expect(
      violations({ policy: { ...policy, deprecated: { 'good@1.0.0': 'It used to be needed.' } } }),
    ).toEqual([
      '@scope/old@2.0.0 is deprecated (use another), and the policy gives no reason to keep it',
      'the policy allows the deprecated good@1.0.0, which is not locked or not deprecated',
    ]);
  });

  it('reports a package that does not run on the oldest supported version of Node', () => {
    expect(violations({ oldestNode: '20.0.5' })).toEqual([
      'builds@3.0.0 requires Node ^18 || >=20.1, which excludes 20.0.5',
    ]);
  });

  it('reports install scripts without an entry, and entries without a package or a reason', () => {
    expect(violations({ allowBuilds: { gone: false, good: true } })).toEqual([
      'allowBuilds names gone, which is not locked',
      'builds@3.0.0 has an install script and is not named in allowBuilds',
      'the policy gives a reason for install scripts of builds*, which allowBuilds does not run',
      'the policy gives no reason for the install script of good',
    ]);
  });

  it.each([['GPL-3.0-only'], ['SEE LICENSE IN FILE'], ['MIT AND GPL-2.0-only'], [undefined]])(
    'reports the licence %s',
    (licence) => {
      expect(violations({ having: installed('good', '1.0.0', { licence }) })).toEqual([
        `good@1.0.0 has the licence ${licence ?? '(none declared)'}, which is not allowed`,
      ]);
    },
  );

  it.each([['ISC'], ['(MIT OR GPL-2.0-only)'], ['(MIT AND ISC)']])('accepts the licence %s', (licence) => {
    expect(violations({ having: installed('good', '1.0.0', { licence }) })).toEqual([]);
  });

  it('accepts an exception only for the declared licence, and reports an unused exception', () => {
    const excepting = (declared: string) => ({
      ...policy,
      licenceExceptions: { good: { declared, reason: 'We have asked a lawyer.' } },
    });
    const having = installed('good', '1.0.0', { licence: 'X-1' });
    expect(violations({ policy: excepting('X-1'), having })).toEqual([]);
    expect(violations({ policy: excepting('X-2'), having })).toHaveLength(2);
    expect(violations({ policy: excepting('MIT') })).toEqual([
      'the policy has an unused licence exception for good',
    ]);
  });

  it('reports a build for another platform that is not in the lock file, unless an override removes it', () => {
    const optionalDependencies = ['elsewhere', 'mac'];
    const having = installed('good', '1.0.0', { optionalDependencies });
    expect(violations({ having })).toEqual([
      'mac of good@1.0.0 is not in the lock file: run pnpm install --fix-lockfile',
    ]);
    expect(violations({ having, overrides: { 'good>mac': '-' } })).toEqual([]);
  });

  it('reports packages from outside the registry and missing packages', () => {
    const locked = readLockFile(
      "packages:\n  'fork@https://example.com/fork.tgz':\n    resolution: {tarball: https://example.com/fork.tgz}\n",
    );
    expect(
      violations({ locked, allowBuilds: {}, policy: { ...policy, deprecated: {}, installScripts: {} } }),
    ).toEqual([
      'fork@https://example.com/fork.tgz has no hash in the lock file, so it does not come from the registry',
      'fork@https://example.com/fork.tgz is not installed: run pnpm install',
    ]);
  });
});
