import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { shellBlock } from './code-blocks.ts';
import { run } from './command.ts';
import { rootDir } from './repository.ts';

// The production overlay of the proof: the local one, whose databases are in the cluster, with backups.
const overlay = `apiVersion: kustomize.config.k8s.io/v1beta1
kind: Kustomization
resources: [../local]
components: [../../components/backup]
`;

// A release whose migrations fail: each migrator finds one more script.
const failingMigration = `patches:
${['identity', 'issues']
  .map(
    (service) => `  - target: { kind: Job, name: ${service}-migrate }
    patch: |-
      - op: add
        path: /spec/template/spec/volumes/-
        value: { name: failing, configMap: { name: failing-migration } }
      - op: add
        path: /spec/template/spec/containers/0/volumeMounts/-
        value: { name: failing, mountPath: /service/prisma/migrations/29991231000000_fails }
`,
  )
  .join('')}`;

/** A shell in a folder with a copy of k8s/, into which the blocks of docs/operations/kubernetes.md and the runbooks are pasted. */
export class Runbooks {
  readonly folder = mkdtempSync(join(tmpdir(), 'tessera-cluster-'));
  readonly #programs: string;

  /** @param programs the commands in place of `kubectl` and `helm`, with their first arguments */
  constructor(programs: { kubectl: string; helm: string }) {
    this.#programs = Object.entries(programs)
      .map(([name, command]) => `${name}() { command ${command} "$@"; }\n`)
      .join('');
    cpSync(join(rootDir, 'k8s'), join(this.folder, 'k8s'), { recursive: true });
    this.release();
  }

  /** Changes what the next `kubectl apply` of the production overlay deploys. */
  release({ failing = false } = {}): void {
    this.writeFile(
      'k8s/overlays/production/kustomization.yaml',
      failing ? overlay + failingMigration : overlay,
    );
  }

  /**
   * Runs blocks after the functions of the runbooks, in a shell that stops at the first error. Resolves with the output; rejects
   * when a command fails.
   */
  paste(...blocks: string[]): Promise<string> {
    const text = [
      this.#programs,
      shellBlock('docs/operations/runbooks.md', 'Functions for Kubernetes', 0),
      ...blocks,
    ].join('\n');
    return run('bash', ['--norc', '-euo', 'pipefail', '-c', text], { cwd: this.folder });
  }

  /** Runs text whose last commands continue in the background. Returns a function that ends them. */
  async start(text: string): Promise<() => void> {
    const shell = spawn('bash', ['--norc', '-euo', 'pipefail', '-c', `${this.#programs}${text}\nwait`], {
      cwd: this.folder,
      detached: true,
      stdio: ['ignore', 'inherit', 'inherit'],
    });
    await once(shell, 'spawn');
    const group = -(shell.pid ?? Number.NaN);
    return () => void process.kill(group, 'SIGTERM');
  }

  readFile(path: string): string {
    return readFileSync(join(this.folder, path), 'utf8');
  }

  writeFile(path: string, text: string): void {
    writeFileSync(join(this.folder, path), text);
  }

  remove(): void {
    rmSync(this.folder, { recursive: true });
  }
}
