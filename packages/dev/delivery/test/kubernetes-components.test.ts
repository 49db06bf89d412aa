import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { run } from '../src/command.ts';
import { findSchemaProblems } from '../src/kubernetes-schema.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { nameOf } from '../src/manifest.ts';
import { rootDir } from '../src/repository.ts';
import { workloadsOf } from '../src/workload.ts';

const production = renderKustomization(join(rootDir, 'k8s/overlays/production'));

/** The production overlay with one more component. */
function withComponent(name: string) {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-component-'));
  const path = (part: string) => relative(folder, join(rootDir, 'k8s', part));
  try {
    writeFileSync(
      join(folder, 'kustomization.yaml'),
      `apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [${path('overlays/production')}]\ncomponents: [${path(`components/${name}`)}]\n`,
    );
    return renderKustomization(folder);
  } finally {
    rmSync(folder, { recursive: true });
  }
}

describe('the component openshift', () => {
  const manifests = withComponent('openshift');

  it('sets no user or group id', () => {
    expect(workloadsOf(manifests)).toHaveLength(8);
    for (const { pod } of workloadsOf(manifests)) {
      expect(pod.securityContext).toEqual({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    }
    expect(findSchemaProblems(manifests)).toEqual([]);
  });

  it('allows the DNS of OpenShift', () => {
    const dns = manifests.find((manifest) => nameOf(manifest) === 'NetworkPolicy/dns');
    expect(JSON.stringify(dns?.spec)).toMatch(/openshift-dns.*5353/);
  });
});

describe('the component scaling', () => {
  it('spreads the pods of each release', () => {
    const deployments = workloadsOf(production).filter(({ manifest }) => manifest.kind === 'Deployment');
    expect(deployments).toHaveLength(2);
    for (const { pod } of deployments)
      for (const constraint of pod.topologySpreadConstraints)
        expect(constraint).toMatchObject({ matchLabelKeys: ['pod-template-hash'] });
  });

  it('lets a drain evict pods that are not ready', () => {
    const budgets = production.filter(({ kind }) => kind === 'PodDisruptionBudget');
    expect(budgets).toHaveLength(2);
    for (const { spec } of budgets) expect(spec).toMatchObject({ unhealthyPodEvictionPolicy: 'AlwaysAllow' });
  });
});

describe('the component backup', () => {
  const jobs = workloadsOf(production).filter(({ manifest }) => manifest.kind === 'CronJob');

  it('backs up every night, and restores only on demand', () => {
    expect(jobs.map(({ manifest: { metadata, spec } }) => [metadata.name, spec])).toEqual([
      ['identity-backup', expect.objectContaining({ suspend: false, schedule: '0 2 * * *' })],
      ['identity-restore', expect.objectContaining({ suspend: true })],
      ['issues-backup', expect.objectContaining({ suspend: false, schedule: '10 2 * * *' })],
      ['issues-restore', expect.objectContaining({ suspend: true })],
    ]);
  });

  it('runs scripts of the ConfigMap that bash can parse', async () => {
    const scripts = production.find((manifest) => nameOf(manifest) === 'ConfigMap/backup')?.data;
    const texts = z.record(z.string(), z.string()).parse(scripts);
    for (const { pod } of jobs) {
      const [program, path = ''] = pod.containers[0]?.command ?? [];
      expect(program).toBe('bash');
      const text = texts[path.replace('/scripts/', '')] ?? '';
      expect(text).toMatch(/^set -euo pipefail$/m);
      await run('bash', ['-n'], { input: text });
    }
  });

  it('reads the URL of the owner that the Secrets have, of its own database only', () => {
    for (const { manifest, pod } of jobs) {
      const service = manifest.metadata.name.split('-')[0];
      expect(pod.volumes.flatMap(({ secret }) => secret?.secretName ?? [])).toEqual([
        `${service}-owner-secrets`,
        `${service}-db-ca`,
      ]);
      expect(pod.volumes).toContainEqual(
        expect.objectContaining({ persistentVolumeClaim: { claimName: `${service}-backups` } }),
      );
      expect(manifest.metadata.name).toMatch(/^(identity|issues)-(backup|restore)$/);
      expect(pod.containers[0]?.env).toContainEqual({ name: 'SERVICE', value: service });
    }
  });
});
