import { z } from 'zod';
import { type Manifest, nameOf } from './manifest.ts';
import { publicPathsOf } from './references.ts';
import { type Workload, workloadsOf } from './workload.ts';

/** The longest shutdown after SIGTERM (`runService`), in seconds. */
const shutdownSeconds = 25;

/**
 * Argo CD and Flux delete the Job of the last release and create it again.
 * https://argo-cd.readthedocs.io/en/stable/user-guide/sync-waves/
 * https://fluxcd.io/flux/components/kustomize/kustomizations/#force
 */
const replacedJob = {
  'argocd.argoproj.io/hook': 'Sync',
  'argocd.argoproj.io/hook-delete-policy': 'BeforeHookCreation',
  'kustomize.toolkit.fluxcd.io/force': 'enabled',
};

const publicPaths = new Set([
  'Exact /.well-known/openid-configuration',
  'Exact /jwks',
  'Exact /token',
  'Exact /token/refresh',
  'Exact /token/revoke',
  'Exact /userinfo',
  'Prefix /.well-known/oauth-authorization-server',
  'Prefix /oidc',
  'Prefix /sign-in',
  'Prefix /pages',
  'Prefix /api/problems',
  'Prefix /api',
  'Prefix /app',
  'Exact /',
  'Prefix /issues',
  'Exact /board',
  'Exact /inbox',
  'Exact /my',
  'Prefix /settings',
  'Exact /sign-in',
  'Prefix /assets',
  'Prefix /api/v1/events/stream',
  'Prefix /app/api/v1/events/stream',
]);

/** The manifests' violations of this project's rules (docs/operations/kubernetes-network.md), one line each. */
export function findBrokenRules(manifests: readonly Manifest[]): string[] {
  return [
    ...workloadsOf(manifests).flatMap(workloadProblems),
    ...manifests.flatMap(pathProblems),
    ...manifests.filter(({ kind }) => kind === 'Ingress').flatMap(ingressProblems),
    ...manifests.filter(({ kind }) => kind === 'Service').flatMap(serviceProblems),
    ...(isDefaultDenied(manifests) ? [] : ['NetworkPolicy: none denies everything by default']),
    ...internalProblems(manifests),
  ];
}

function workloadProblems(workload: Workload): string[] {
  const { manifest, pod } = workload;
  const problems: string[] = [];
  if (pod.automountServiceAccountToken !== false) problems.push('mounts an API token');
  for (const { name, image, resources, securityContext } of pod.containers) {
    if (/:latest$|^[^:]+$/.test(image)) problems.push(`${name} has no fixed image: ${image}`);
    if (resources.requests.cpu === undefined || resources.requests.memory === undefined)
      problems.push(`${name} has no resource requests`);
    if (resources.limits.memory === undefined) problems.push(`${name} has no memory limit`);
    if (securityContext.readOnlyRootFilesystem !== true)
      problems.push(`${name} has a writable root file system`);
  }
  if (manifest.kind === 'Deployment') problems.push(...deploymentProblems(workload));
  if (manifest.kind === 'Job') problems.push(...jobProblems(workload));
  return problems.map((problem) => `${nameOf(manifest)}: ${problem}`);
}

// A controller that applies a new release cannot change the Job of the last one.
function jobProblems({ manifest }: Workload): string[] {
  const { annotations = {} } = manifest.metadata;
  return Object.entries(replacedJob)
    .filter(([name, value]) => annotations[name] !== value)
    .map(([name]) => `is not created again by each release: no ${name}`);
}

function deploymentProblems({ spec, pod }: Workload): string[] {
  const problems: string[] = [];
  const unavailable = spec.strategy?.rollingUpdate?.maxUnavailable;
  if (unavailable !== 0) problems.push('a rollout removes pods before others are ready');
  if (pod.topologySpreadConstraints.length === 0) problems.push('all pods may run on one node');
  for (const { name, startupProbe, livenessProbe, readinessProbe, lifecycle } of pod.containers) {
    if (!startupProbe || !livenessProbe || !readinessProbe) problems.push(`${name} lacks a probe`);
    const [program, seconds] = lifecycle?.preStop.exec.command ?? [];
    const preStopSeconds = program === 'sleep' ? Number(seconds) : 0;
    if (preStopSeconds < 1) problems.push(`${name} has no preStop delay for load balancers`);
    if (pod.terminationGracePeriodSeconds <= preStopSeconds + shutdownSeconds)
      problems.push(
        `${name} has a grace period that is shorter than its shutdown: ${pod.terminationGracePeriodSeconds} s`,
      );
  }
  return problems;
}

function pathProblems(manifest: Manifest): string[] {
  return publicPathsOf(manifest)
    .map(({ path, pathType }) => `${pathType} ${path}`)
    .filter((path) => !publicPaths.has(path))
    .map((path) => `${nameOf(manifest)}: publishes ${path}`);
}

function ingressProblems(manifest: Manifest): string[] {
  const { tls } = z.looseObject({ tls: z.array(z.unknown()).default([]) }).parse(manifest.spec);
  return tls.length === 0 ? [`${nameOf(manifest)}: has no TLS`] : [];
}

function serviceProblems(manifest: Manifest): string[] {
  const { type, ports } = z
    .looseObject({
      type: z.string().default('ClusterIP'),
      ports: z.array(z.looseObject({ targetPort: z.unknown() })),
    })
    .parse(manifest.spec);
  const problems = type === 'ClusterIP' ? [] : [`is a ${type}: only the ingress is public`];
  if (ports.some(({ targetPort }) => targetPort === 'metrics' || targetPort === 9464))
    problems.push('exposes metrics');
  return problems.map((problem) => `${nameOf(manifest)}: ${problem}`);
}

const policySchema = z.looseObject({
  podSelector: z.looseObject({ matchLabels: z.record(z.string(), z.string()).optional() }),
  policyTypes: z.array(z.string()),
  ingress: z
    .array(
      z.looseObject({
        from: z.array(z.looseObject({})).optional(),
        ports: z.array(z.looseObject({ port: z.number() })).optional(),
      }),
    )
    .default([]),
  egress: z.array(z.unknown()).default([]),
});

const policiesOf = (manifests: readonly Manifest[]) =>
  manifests
    .filter(({ kind }) => kind === 'NetworkPolicy')
    .map((manifest) => ({ manifest, spec: policySchema.parse(manifest.spec) }));

function isDefaultDenied(manifests: readonly Manifest[]): boolean {
  return policiesOf(manifests).some(
    ({ spec }) =>
      spec.podSelector.matchLabels === undefined &&
      spec.policyTypes.join() === 'Ingress,Egress' &&
      spec.ingress.length === 0 &&
      spec.egress.length === 0,
  );
}

// Every ingress rule must name its peers and ports.
function internalProblems(manifests: readonly Manifest[]): string[] {
  return policiesOf(manifests).flatMap(({ manifest, spec }) =>
    spec.ingress
      .filter(({ from = [], ports = [] }) => ports.length === 0 || from.length === 0 || from.some(matchesAll))
      .map(() => `${nameOf(manifest)}: allows any source or port`),
  );
}

function matchesAll(peer: Record<string, unknown>): boolean {
  return Object.values(peer).every((selector) => JSON.stringify(selector) === '{}');
}
