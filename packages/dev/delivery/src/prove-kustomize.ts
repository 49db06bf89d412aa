// Compares the rendering of the overlays by kustomize.ts with kustomize's own.
//   pnpm prove:kustomize [--kustomize 'kustomize build']
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { run } from './command.ts';
import { renderKustomization } from './kustomize.ts';
import { type Manifest, nameOf, readManifests } from './manifest.ts';
import { rootDir } from './repository.ts';

const { values } = parseArgs({ options: { kustomize: { type: 'string', default: 'kubectl kustomize' } } });
const [program = '', ...args] = values.kustomize.split(' ');

const byName = (manifests: readonly Manifest[]) =>
  new Map(manifests.map((manifest) => [nameOf(manifest), manifest] as const));

for (const overlay of ['local', 'production']) {
  const folder = join(rootDir, 'k8s/overlays', overlay);
  const ours = byName(renderKustomization(folder));
  const theirs = byName(readManifests(await run(program, [...args, folder])));
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  const different = [...names].filter((name) => !isDeepStrictEqual(ours.get(name), theirs.get(name)));
  if (different.length > 0) throw new Error(`${overlay} is rendered differently: ${different.join(', ')}`);
  process.stdout.write(`${overlay}: ${names.size} objects, identical\n`);
}
