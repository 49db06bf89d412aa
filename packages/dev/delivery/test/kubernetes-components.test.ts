import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { checkManifests } from '../src/check-manifests.ts';
import { run } from '../src/command.ts';
import { findSchemaProblems } from '../src/kubernetes-schema.ts';
import { renderComponents, renderKustomization } from '../src/kustomize.ts';
import { nameOf, readManifests } from '../src/manifest.ts';
import { publicPathsOf } from '../src/references.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';
import { workloadsOf } from '../src/workload.ts';

const production = renderKustomization(join(rootDir, 'k8s/overlays/production'));

describe('the component openshift', () => {
  const manifests = renderComponents(['backup', 'openshift']);

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

describe('the component http-route', () => {
  const manifests = renderComponents(['ingress', 'http-route']);
  const pathsOf = (kind: string) =>
    manifests
      .filter((manifest) => manifest.kind === kind)
      .flatMap(publicPathsOf)
      .map(({ host, path, pathType, service }) => `${service} ${host} ${pathType} ${path}`);

  it('publishes the paths of the Ingress, and the streams of events without a time limit', () => {
    expect(new Set(pathsOf('HTTPRoute'))).toEqual(
      new Set([
        ...pathsOf('Ingress'),
        'issues issues.example.com Prefix /api/v1/events/stream',
        'issues issues.example.com Prefix /app/api/v1/events/stream',
      ]),
    );
    expect(JSON.stringify(manifests)).toContain('"timeouts":{"request":"0s"}');
  });

  it('names the Gateway of the example, which has a listener for each host', () => {
    const [gateway] = readManifests(readRepositoryFile('k8s/examples/gateway.yaml'));
    const routes = manifests.filter(({ kind }) => kind === 'HTTPRoute');
    const { name, namespace } = gateway?.metadata ?? {};
    for (const { spec } of routes) expect(spec).toMatchObject({ parentRefs: [{ name, namespace }] });
    const hosts = routes.map(
      ({ spec }) => z.looseObject({ hostnames: z.array(z.string()) }).parse(spec).hostnames,
    );
    expect(gateway?.spec).toMatchObject({ listeners: hosts.map(([hostname]) => ({ hostname })) });
  });
});

it('the component monitoring has the alerts of observability/alerts.yaml', () => {
  const rule = renderComponents(['monitoring']).find(({ kind }) => kind === 'PrometheusRule');
  expect(rule?.spec).toEqual(parse(readRepositoryFile('k8s/observability/alerts.yaml')));
});

it('all components together have no problems', async () => {
  const secrets = readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
  const names = ['backup', 'ingress', 'http-route', 'scaling', 'database-tls', 'monitoring'];
  expect(await checkManifests([...renderComponents(names), ...secrets])).toEqual([]);
});

it('the external secrets have the keys of the Secrets', () => {
  const target = z.looseObject({
    target: z.looseObject({ name: z.string() }),
    data: z.array(z.looseObject({ secretKey: z.string() })),
  });
  const external = readManifests(readRepositoryFile('k8s/examples/external-secrets.yaml')).map(({ spec }) => {
    const { target: to, data } = target.parse(spec);
    return [to.name, data.map(({ secretKey }) => secretKey)] as const;
  });
  const secrets = readManifests(readRepositoryFile('k8s/examples/secrets.yaml'))
    .filter(({ metadata }) => !metadata.name.endsWith('-db-ca'))
    .map(({ metadata, stringData }) => [metadata.name, Object.keys(stringData ?? {})] as const);
  expect(new Map(external)).toEqual(new Map(secrets));
});
