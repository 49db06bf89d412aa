import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, it } from '@jest/globals';
import jsonPatch, { type Operation } from 'fast-json-patch';
import { checkManifests } from '../src/check-manifests.ts';
import { run } from '../src/command.ts';
import { findSchemaProblems } from '../src/kubernetes-schema.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { type Manifest, nameOf, readManifests } from '../src/manifest.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';

const overlay = (name: string) => renderKustomization(join(rootDir, 'k8s/overlays', name));
const exampleSecrets = () => readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
const production = () => [...overlay('production'), ...exampleSecrets()];

async function localSecrets(): Promise<Manifest[]> {
  const list = JSON.parse(await run('node', ['k8s/make-secrets.mjs'], { cwd: rootDir }));
  return list.items;
}

describe('the manifests', () => {
  it('of production are right, with the example of its secrets', async () => {
    expect(await checkManifests(production())).toEqual([]);
  });

  it('of the local overlay are right, with the secrets that are made for it', async () => {
    const secrets = (await localSecrets()).filter(({ kind }) => kind === 'Secret');
    expect(await checkManifests([...overlay('local'), ...secrets])).toEqual([]);
  });

  it('of the examples have the right shape', () => {
    const kinds = new Set(['Cluster', 'ScheduledBackup']);
    const examples = readdirSync(join(rootDir, 'k8s/examples')).flatMap((file) =>
      readManifests(readRepositoryFile(`k8s/examples/${file}`)),
    );
    // The operator's own kinds are not Kubernetes'.
    expect(findSchemaProblems(examples.filter(({ kind }) => !kinds.has(kind)))).toEqual([]);
    expect(examples.length).toBeGreaterThan(10);
  });

  it('give every secret file that a service reads', async () => {
    for (const [name, secrets] of [
      ['production', exampleSecrets()],
      ['local', await localSecrets()],
    ] as const) {
      const files = JSON.stringify(overlay(name)).matchAll(/\/run\/secrets\/tessera\/([\w-]+)/g);
      const given = new Set(secrets.flatMap(({ stringData }) => Object.keys(stringData ?? {})));
      for (const [, file] of files) expect([...given]).toContain(file);
    }
  });

  it('hold no secret', () => {
    for (const manifest of [...overlay('production'), ...overlay('local')]) {
      expect(manifest.kind).not.toBe('Secret');
      expect(JSON.stringify(manifest)).not.toMatch(/PRIVATE KEY|postgresql:\/\/\w+:/);
    }
  });
});

const container = '/spec/template/spec/containers/0';

/** One thing spoilt in what is right, and a part of what must then be said. */
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
    'no selector',
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
    'privileges to gain',
    'Deployment/identity',
    [{ op: 'replace', path: `${container}/securityContext/allowPrivilegeEscalation`, value: true }],
    /PSS202/,
  ],
  [
    'no seccomp profile',
    'Deployment/issues',
    [{ op: 'remove', path: '/spec/template/spec/securityContext/seccompProfile' }],
    /PSS205/,
  ],
  [
    'a writable root',
    'Deployment/issues',
    [{ op: 'replace', path: `${container}/securityContext/readOnlyRootFilesystem`, value: false }],
    /can write to its root/,
  ],
  [
    'a selector of other pods',
    'Service/identity',
    [{ op: 'replace', path: '/spec/selector', value: { app: 'nobody' } }],
    /selects no pod/,
  ],
  [
    'a ConfigMap that is not there',
    'Deployment/identity',
    [{ op: 'replace', path: `${container}/envFrom/0/configMapRef/name`, value: 'identiti' }],
    /no ConfigMap\/identiti/,
  ],
  [
    'a mount of no volume',
    'Deployment/identity',
    [{ op: 'replace', path: `${container}/volumeMounts/0/name`, value: 'secret' }],
    /mounts no volume secret/,
  ],
  [
    '/internal to the world',
    'Ingress/identity',
    [{ op: 'replace', path: '/spec/rules/0/http/paths/1/path', value: '/internal' }],
    /publishes Exact \/internal/,
  ],
  [
    'everything to the world',
    'Ingress/issues',
    [{ op: 'replace', path: '/spec/rules/0/http/paths/0/path', value: '/' }],
    /publishes Prefix \//,
  ],
  [
    'metrics in a Service',
    'Service/issues',
    [{ op: 'replace', path: '/spec/ports/0/targetPort', value: 'metrics' }],
    /offers metrics/,
  ],
  [
    'a network without denial',
    'NetworkPolicy/default-deny',
    [{ op: 'add', path: '/spec/ingress', value: [{}] }],
    /none denies everything/,
  ],
  [
    'a database for everybody',
    'NetworkPolicy/identity-database',
    [{ op: 'replace', path: '/spec/ingress/0/from', value: [{ podSelector: {} }] }],
    /lets everybody in/,
  ],
  [
    'an end that is too short',
    'Deployment/issues',
    [{ op: 'replace', path: '/spec/template/spec/terminationGracePeriodSeconds', value: 30 }],
    /killed before it can end/,
  ],
  [
    'a rollout with a gap',
    'Deployment/identity',
    [{ op: 'replace', path: '/spec/strategy/rollingUpdate/maxUnavailable', value: 1 }],
    /before others are ready/,
  ],
  [
    'no readiness probe',
    'Deployment/issues',
    [{ op: 'remove', path: `${container}/readinessProbe` }],
    /lacks a probe/,
  ],
  [
    'an image that moves',
    'Deployment/issues',
    [{ op: 'replace', path: `${container}/image`, value: 'tessera/issues:latest' }],
    /no fixed image/,
  ],
  [
    "a token of the cluster's API",
    'Deployment/issues',
    [{ op: 'remove', path: '/spec/template/spec/automountServiceAccountToken' }],
    /token of the cluster's API/,
  ],
];

describe('the check refuses', () => {
  let manifests: Manifest[];
  beforeEach(() => {
    manifests = structuredClone(production());
  });

  it.each(broken)('%s', async (_name, target, operations, said) => {
    const manifest = manifests.find((one) => nameOf(one) === target);
    jsonPatch.applyPatch(manifest, operations, true);
    expect((await checkManifests(manifests)).join('\n')).toMatch(said);
  });

  it('a key that stands twice', () => {
    expect(() =>
      readManifests('apiVersion: v1\nkind: Namespace\nkind: Service\nmetadata: {name: x}'),
    ).toThrow(/unique/);
  });
});
