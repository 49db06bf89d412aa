import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { shellBlock } from '../src/code-blocks.ts';
import { run } from '../src/command.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';
import { workloadsOf } from '../src/workload.ts';

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'tessera-release-'));
});
afterEach(() => rmSync(folder, { recursive: true }));

/** A program on the path of the block that writes its arguments to `calls` and prints a text. */
function fake(program: string, prints = ''): void {
  mkdirSync(join(folder, 'bin'), { recursive: true });
  const path = join(folder, 'bin', program);
  writeFileSync(path, `#!/bin/sh\necho "${program} $*" >> "${folder}/calls"\nprintf '%s' '${prints}'\n`);
  chmodSync(path, 0o755);
}

const runBlock = (text: string) =>
  run('bash', ['-euo', 'pipefail', '-s'], {
    cwd: folder,
    input: `export PATH="${folder}/bin:$PATH" REGISTRY=eu.example.com/team\n${text}`,
  });

describe('the tag of the images', () => {
  it('is "local" in compose, in the base and in the local overlay', () => {
    expect(readRepositoryFile('docker/compose.yaml')).toMatch(
      /image: tessera\/issues:\$\{TESSERA_VERSION:-local\}/,
    );
    for (const { pod } of workloadsOf(renderKustomization(join(rootDir, 'k8s/overlays/local'))))
      for (const { image } of pod.containers)
        expect(image).toMatch(/^tessera\/(identity|issues):local$|^postgres:/);
  });

  it('is the commit in the production overlay after the commands of docker/README.md', async () => {
    for (const part of ['base', 'components', 'overlays'])
      cpSync(join(rootDir, 'k8s', part), join(folder, 'k8s', part), { recursive: true });
    fake('docker');
    fake('git', '0123456789ab');
    await runBlock(shellBlock('docker/README.md', 'The image', 0));
    const calls = readFileSync(join(folder, 'calls'), 'utf8');
    const name = (app: string) => `eu.example.com/team/tessera/${app}:0123456789ab`;
    for (const app of ['identity', 'issues']) {
      expect(calls).toContain(
        `docker tag tessera/${app}:0123456789ab ${name(app)}\ndocker push ${name(app)}\n`,
      );
    }
    const images = workloadsOf(renderKustomization(join(folder, 'k8s/overlays/production'))).flatMap(
      ({ pod }) => pod.containers.map(({ image }) => image),
    );
    // The backups use the image of the server.
    const built = images.filter((image) => !image.startsWith('postgres:'));
    expect(new Set(built)).toEqual(new Set([name('identity'), name('issues')]));
  });
});

it("k8s/README.md gets the service token of the tour from the cluster's Secret", async () => {
  fake('kubectl', Buffer.from('a token of 32 characters').toString('base64'));
  await runBlock(shellBlock('k8s/README.md', 'Deploy', 2));
  expect(readFileSync(join(folder, '.data/service-token'), 'utf8')).toBe('a token of 32 characters');
  expect(readFileSync(join(folder, 'calls'), 'utf8')).toBe(
    'kubectl --namespace tessera get secret identity-secrets --output jsonpath={.data.service-token}\n',
  );
});

it("k8s/README.md installs the repository's chart into the namespace", async () => {
  for (const program of ['kubectl', 'helm']) fake(program);
  await runBlock(shellBlock('k8s/README.md', 'Helm', 0));
  expect(readFileSync(join(folder, 'calls'), 'utf8').split('\n')).toEqual([
    'kubectl label --overwrite namespace tessera pod-security.kubernetes.io/enforce=restricted',
    'helm upgrade --install tessera k8s/helm --namespace tessera --values my-values.yaml --wait',
    '',
  ]);
});
