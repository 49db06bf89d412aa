import { spawnSync } from 'node:child_process';

/**
 * Finds a Python that has modules: that of `PATH` or that of Debian, because a Python of a version manager does not see Debian's
 * packages. packages/dev/web-test/install-applications.sh installs them.
 */
export function findPython(...modules: string[]): string | undefined {
  return ['python3', '/usr/bin/python3'].find(
    (python) => spawnSync(python, ['-c', `import ${modules.join(', ')}`]).status === 0,
  );
}
