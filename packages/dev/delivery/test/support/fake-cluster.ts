import {
  chmodSync,
  copyFileSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import { run } from '../../src/command.ts';
import { renderKustomization } from '../../src/kustomize.ts';
import { type Manifest, readManifests } from '../../src/manifest.ts';
import { readRepositoryFile, rootDir } from '../../src/repository.ts';
import { workloadsOf } from '../../src/workload.ts';

const stateSchema = z.object({
  objects: z.array(z.string()),
  overlays: z.record(z.string(), z.array(z.string())),
  secrets: z.record(z.string(), z.record(z.string(), z.string())),
  configMaps: z.record(z.string(), z.record(z.string(), z.string())),
  condition: z.enum(['Complete', 'Failed']),
  environment: z.record(z.string(), z.string()),
  secretFolder: z.string(),
});
type State = z.infer<typeof stateSchema>;

const nameOf = ({ kind, metadata }: Manifest) => `${kind.toLowerCase()}/${metadata.name}`;
const dataSchema = z.record(z.string(), z.string());

/** A folder with a copy of k8s/ and a kubectl whose cluster is a file. */
export class FakeCluster {
  readonly folder = mkdtempSync(join(tmpdir(), 'tessera-runbook-'));
  readonly #file = join(this.folder, 'cluster.json');

  constructor() {
    cpSync(join(rootDir, 'k8s'), join(this.folder, 'k8s'), { recursive: true });
    mkdirSync(join(this.folder, 'bin'));
    const kubectl = join(this.folder, 'bin/kubectl');
    copyFileSync(fileURLToPath(new URL('fake-kubectl.cjs', import.meta.url)), kubectl);
    chmodSync(kubectl, 0o755);
    const overlays: Record<string, string[]> = {};
    for (const name of ['local', 'production']) {
      const manifests = renderKustomization(join(rootDir, 'k8s/overlays', name));
      const migrations = workloadsOf(manifests).filter(
        ({ spec }) => spec.template.metadata.labels['app.kubernetes.io/component'] === 'migration',
      );
      overlays[`k8s/overlays/${name}`] = manifests.map(nameOf);
      overlays[`k8s/overlays/${name} app.kubernetes.io/component=migration`] = migrations.map(
        ({ manifest }) => nameOf(manifest),
      );
    }
    this.#write({
      objects: [],
      overlays,
      secrets: {},
      configMaps: {},
      condition: 'Complete',
      environment: {},
      secretFolder: this.folder,
    });
  }

  get state(): State {
    return stateSchema.parse(JSON.parse(readFileSync(this.#file, 'utf8')));
  }

  /** The arguments of each call, in order. */
  get calls(): string[] {
    return readFileSync(`${this.#file}.calls`, 'utf8').trimEnd().split('\n');
  }

  #write(state: State): void {
    writeFileSync(this.#file, JSON.stringify(state));
  }

  set(changes: Partial<State>): void {
    this.#write({ ...this.state, ...changes });
  }

  /** As after "Deploy", with the example secrets. */
  deploy(): void {
    const manifests = renderKustomization(join(rootDir, 'k8s/overlays/production'));
    const secrets = readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
    const dataOf = (kind: string, key: string, all: readonly Manifest[]) =>
      Object.fromEntries(
        all.filter((one) => one.kind === kind).map((one) => [nameOf(one), dataSchema.parse(one[key])]),
      );
    this.set({
      objects: [...manifests, ...secrets].map(nameOf),
      secrets: dataOf('Secret', 'stringData', secrets),
      configMaps: dataOf('ConfigMap', 'data', manifests),
    });
  }

  /** Runs a block as pasted text in the repository. Rejects when a command fails. */
  run(block: string, input = ''): Promise<string> {
    const path = `export PATH="${this.folder}/bin:$PATH" CLUSTER="${this.#file}"`;
    return run('bash', ['--norc', '-euo', 'pipefail', '-c', `${path}\n${block}`], {
      cwd: this.folder,
      input,
    });
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
