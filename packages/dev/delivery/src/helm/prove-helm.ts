// Compares what Helm renders from k8s/helm with kustomize's rendering of k8s/, for sets of switches. Without Helm, Go's
// text/template renders the chart, which is the engine of Helm.
//   pnpm prove:helm [--helm helm | --go go]
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { isDeepStrictEqual, parseArgs } from 'node:util';
import { run } from '../command.ts';
import { type Manifest, nameOf, readManifests } from '../manifest.ts';
import { rootDir } from '../repository.ts';
import { makeChart } from './chart.ts';
import { expectedManifests, switchSets, valuesFor } from './chart-cases.ts';
import { helmYaml, mergeValues, readValues } from './render-chart.ts';

const { values: options } = parseArgs({
  options: { helm: { type: 'string', default: 'helm' }, go: { type: 'string' } },
});
const chart = makeChart();
const release = { namespace: 'tessera', revision: 1 };

async function renderWithHelm(values: object): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-helm-'));
  try {
    const file = join(folder, 'values.json');
    writeFileSync(file, JSON.stringify(values));
    const args = ['template', 'tessera', join(rootDir, 'k8s/helm'), '--namespace', release.namespace];
    return await run(options.helm, [...args, '--kube-version', '1.33.0', '--values', file]);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function renderWithGo(go: string, values: Record<string, unknown>): Promise<string> {
  const templates = Object.fromEntries([...chart].filter(([path]) => path.startsWith('templates/')));
  const data = {
    Values: mergeValues(readValues(chart), values),
    Release: { Namespace: release.namespace, Revision: release.revision },
  };
  const program = join(rootDir, 'packages/dev/delivery/src/helm/template.go');
  return run(go, ['run', program], { input: JSON.stringify({ templates, data }) });
}

const byName = (manifests: readonly Manifest[]) =>
  new Map(manifests.map((manifest) => [nameOf(manifest), manifest]));

for (const on of switchSets) {
  const values = valuesFor(on);
  const text =
    options.go === undefined ? await renderWithHelm(values) : await renderWithGo(options.go, values);
  const theirs = byName(readManifests(text, helmYaml));
  const ours = byName(expectedManifests(on, release));
  const names = new Set([...ours.keys(), ...theirs.keys()]);
  const different = [...names].filter((name) => !isDeepStrictEqual(ours.get(name), theirs.get(name)));
  const title = on.map(({ value }) => value).join(', ') || 'no switch';
  if (different.length > 0) throw new Error(`${title}: rendered differently: ${different.join(', ')}`);
  process.stdout.write(`${title}: ${names.size} objects, identical\n`);
}
