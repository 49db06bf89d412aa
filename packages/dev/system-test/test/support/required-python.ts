import { findPython } from '../../src/clients/python.ts';

/** As `findPython`. @throws in CI, which installs the modules, instead of skipping what needs them */
export function requiredPython(...modules: string[]): string | undefined {
  const python = findPython(...modules);
  if (python === undefined && process.env.REQUIRE_APPLICATIONS === '1')
    throw new Error(`REQUIRE_APPLICATIONS is set, and no Python has ${modules.join(', ')}`);
  return python;
}
