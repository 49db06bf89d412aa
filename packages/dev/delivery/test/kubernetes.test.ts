import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import jsonPatch, { type Operation } from 'fast-json-patch';
import { z } from 'zod';
import { checkManifests } from '../src/check-manifests.ts';
import { run } from '../src/command.ts';
import { findSchemaProblems } from '../src/kubernetes-schema.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { type Manifest, nameOf, readManifests } from '../src/manifest.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';
import { workloadsOf } from '../src/workload.ts';

const overlay = (name: string) => renderKustomization(join(rootDir, 'k8s/overlays', name));
const exampleSecrets = () => readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
const production = () => [...overlay('production'), ...exampleSecrets()];

async function localSecrets(): Promise<Manifest[]> {
  const list = JSON.parse(await run('node', ['k8s/make-secrets.mjs'], { cwd: rootDir }));
  return list.items;
}

describe('the manifests', () => {
  it('have no problems in production, with the example secrets', async () => {
    expect(await checkManifests(production())).toEqual([]);
  });

  it('have no problems in the local overlay, with generated secrets', async () => {
    const secrets = (await localSecrets()).filter(({ kind }) => kind === 'Secret');
    expect(await checkManifests([...overlay('local'), ...secrets])).toEqual([]);
  });

  it.each(['production', 'local'])('switch the password blocklist on in %s', (name) => {
    const config = overlay(name).find((manifest) => nameOf(manifest) === 'ConfigMap/identity');
    expect(config).toMatchObject({ data: { PASSWORD_BLOCKLIST: 'on' } });
  });

  it('verify the certificate of the database in production, with a CA that is mounted where the URL says', () => {
    const urls = exampleSecrets().flatMap(({ stringData }) =>
      Object.entries(z.record(z.string(), z.string()).parse(stringData ?? {}))
        .filter(([name]) => name.endsWith('database-url'))
        .map(([, url]) => new URL(url).searchParams),
    );
    expect(urls).toHaveLength(4);
    const ca = '/run/secrets/tessera-database-ca';
    for (const parameters of urls) {
      expect(Object.fromEntries(parameters)).toEqual({
        sslmode: 'verify-full',
        sslrootcert: `${ca}/ca.crt`,
      });
    }
    for (const { manifest, pod } of workloadsOf(overlay('production'))) {
      const service = manifest.metadata.name.replace(/-(migrate|backup|restore)$/, '');
      expect(pod.volumes).toContainEqual(
        expect.objectContaining({
          name: 'database-ca',
          secret: expect.objectContaining({
            secretName: `${service}-db-ca`,
            items: [{ key: 'ca.crt', path: 'ca.crt' }],
          }),
        }),
      );
      for (const { volumeMounts } of pod.containers) {
        expect(volumeMounts).toContainEqual({ name: 'database-ca', mountPath: ca, readOnly: true });
      }
    }
  });

  it('match the schema in the examples', () => {
    const kinds = new Set(['Cluster', 'ObjectStore', 'ScheduledBackup']);
    const examples = readdirSync(join(rootDir, 'k8s/examples')).flatMap((file) =>
      readManifests(readRepositoryFile(`k8s/examples/${file}`)),
    );
    // The operator's own kinds are not part of the schema.
    expect(findSchemaProblems(examples.filter(({ kind }) => !kinds.has(kind)))).toEqual([]);
    expect(examples.length).toBeGreaterThan(10);
  });

  it('provide every secret file that a service reads', async () => {
    for (const [name, secrets] of [
      ['production', exampleSecrets()],
      ['local', await localSecrets()],
    ] as const) {
      const files = JSON.stringify(overlay(name)).matchAll(/\/run\/secrets\/tessera\/([\w-]+)/g);
      const given = new Set(secrets.flatMap(({ stringData }) => Object.keys(stringData ?? {})));
      for (const [, file] of files) expect([...given]).toContain(file);
    }
  });

  it('contain no secret', () => {
    for (const manifest of [...overlay('production'), ...overlay('local')]) {
      expect(manifest.kind).not.toBe('Secret');
      expect(JSON.stringify(manifest)).not.toMatch(/PRIVATE KEY|postgresql:\/\/\w+:/);
    }
  });
});

const container = '/spec/template/spec/containers/0';

/** One broken part of valid manifests, and a part of the expected message. */
const broken: [string, string, Operation[], RegExp][] = [
  [
    'an unknown field',
    'Deployment/identity',
    [{ op: 'add', path: '/spec/replica', value: 2 }],
    /additional properties replica/,
  ],
  [
    'a number as text',
    'Deployment/issues',
    [{ op: 'replace', path: `${container}/ports/0/containerPort`, value: '3000' }],
    /containerPort: must be number/,
  ],
  [
    'a version that is not served',
    'HorizontalPodAutoscaler/identity',
    [{ op: 'replace', path: '/apiVersion', value: 'autoscaling/v2beta2' }],
    /no such kind/,
  ],
  [
    'a missing selector',
    'Deployment/issues',
    [{ op: 'remove', path: '/spec/selector' }],
    /required property 'selector'/,
  ],
  [
    'root',
    'Deployment/identity',
    [{ op: 'replace', path: '/spec/template/spec/securityContext/runAsUser', value: 0 }],
    /PSS204/,
  ],
  [
    'capabilities',
    'Job/issues-migrate',
    [{ op: 'remove', path: `${container}/securityContext/capabilities` }],
    /PSS206/,
  ],
  [
    'privilege escalation',
    'Deployment/identity',
    [{ op: 'replace', path: `${container}/securityContext/allowPrivilegeEscalation`, value: true }],
    /PSS202/,
  ],
  [
    'a missing seccomp profile',
    'Deployment/issues',
    [{ op: 'remove', path: '/spec/template/spec/securityContext/seccompProfile' }],
    /PSS205/,
  ],
  [
    'a writable root file system',
    'Deployment/issues',
    [{ op: 'replace', path: `${container}/securityContext/readOnlyRootFilesystem`, value: false }],
    /has a writable root file system/,
  ],
  [
    'a selector of other pods',
    'Service/identity',
    [{ op: 'replace', path: '/spec/selector', value: { app: 'nobody' } }],
    /selects no pod/,
  ],
  [
    'a missing ConfigMap',
    'Deployment/identity',
    [{ op: 'replace', path: `${container}/envFrom/0/configMapRef/name`, value: 'identiti' }],
    /no ConfigMap\/identiti/,
  ],
  [
    'a mount without a volume',
    'Deployment/identity',
    [{ op: 'replace', path: `${container}/volumeMounts/0/name`, value: 'secret' }],
    /mounts no volume secret/,
  ],
  [
    'a public /internal',
    'Ingress/identity',
    [{ op: 'replace', path: '/spec/rules/0/http/paths/1/path', value: '/internal' }],
    /publishes Exact \/internal/,
  ],
  [
    'a public root path',
    'Ingress/issues',
    [{ op: 'replace', path: '/spec/rules/0/http/paths/0/path', value: '/' }],
    /publishes Prefix \//,
  ],
  [
    'metrics in a Service',
    'Service/issues',
    [{ op: 'replace', path: '/spec/ports/0/targetPort', value: 'metrics' }],
    /exposes metrics/,
  ],
  [
    'a network without default deny',
    'NetworkPolicy/default-deny',
    [{ op: 'add', path: '/spec/ingress', value: [{}] }],
    /none denies everything/,
  ],
  [
    'a database that is open to all pods',
    'NetworkPolicy/identity-database',
    [{ op: 'replace', path: '/spec/ingress/0/from', value: [{ podSelector: {} }] }],
    /allows any source or port/,
  ],
  [
    'a grace period that is too short',
    'Deployment/issues',
    [{ op: 'replace', path: '/spec/template/spec/terminationGracePeriodSeconds', value: 30 }],
    /grace period that is shorter than its shutdown/,
  ],
  [
    'a pod that stops before load balancers remove it',
    'Deployment/issues',
    [{ op: 'replace', path: `${container}/lifecycle/preStop/exec/command`, value: ['node'] }],
    /no preStop delay/,
  ],
  [
    'a Job that no release can replace',
    'Job/identity-migrate',
    [{ op: 'remove', path: '/metadata/annotations' }],
    /is not created again by each release: no argocd/,
  ],
  [
    'a rollout that removes pods first',
    'Deployment/identity',
    [{ op: 'replace', path: '/spec/strategy/rollingUpdate/maxUnavailable', value: 1 }],
    /before others are ready/,
  ],
  [
    'a missing readiness probe',
    'Deployment/issues',
    [{ op: 'remove', path: `${container}/readinessProbe` }],
    /lacks a probe/,
  ],
  [
    'an image without a fixed tag',
    'Deployment/issues',
    [{ op: 'replace', path: `${container}/image`, value: 'tessera/issues:latest' }],
    /no fixed image/,
  ],
  [
    'an API token in the pod',
    'Deployment/issues',
    [{ op: 'remove', path: '/spec/template/spec/automountServiceAccountToken' }],
    /mounts an API token/,
  ],
];

describe('the check rejects', () => {
  let manifests: Manifest[];
  beforeEach(() => {
    manifests = structuredClone(production());
  });

  it.each(broken)('%s', async (_name, target, operations, message) => {
    const manifest = manifests.find((one) => nameOf(one) === target);
    jsonPatch.applyPatch(manifest, operations, true);
    expect((await checkManifests(manifests)).join('\n')).toMatch(message);
  });

  it('a duplicate key', () => {
    expect(() =>
      readManifests('apiVersion: v1\nkind: Namespace\nkind: Service\nmetadata: {name: x}'),
    ).toThrow(/unique/);
  });
});
