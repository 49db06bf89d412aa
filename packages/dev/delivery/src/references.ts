import { z } from 'zod';
import { type Manifest, nameOf } from './manifest.ts';
import { type Workload, workloadsOf } from './workload.ts';

type Labels = Record<string, string>;

const labels = z.record(z.string(), z.string());
const selectorSchema = z.looseObject({ matchLabels: labels.default({}) });

/** References without a target: names, selectors and ports, one line each. */
export function findDanglingReferences(manifests: readonly Manifest[]): string[] {
  const workloads = workloadsOf(manifests);
  return [
    ...workloads.flatMap((workload) => [...ownReferences(workload), ...namedReferences(workload, manifests)]),
    ...manifests.flatMap((manifest) => selectorProblems(manifest, workloads)),
    ...manifests.flatMap((manifest) => targetProblems(manifest, manifests)),
  ];
}

function ownReferences({ manifest, spec, pod }: Workload): string[] {
  const volumes = [...pod.volumes, ...spec.volumeClaimTemplates.map(({ metadata }) => metadata)];
  const mounts = pod.containers.flatMap(({ volumeMounts }) => volumeMounts);
  const problems = mounts
    .filter(({ name }) => !volumes.some((volume) => volume.name === name))
    .map(({ name }) => `mounts no volume ${name}`);
  if (spec.selector !== undefined && !matches(spec.selector.matchLabels, spec.template.metadata.labels)) {
    problems.push('selects other pods than its template');
  }
  return problems.map((problem) => `${nameOf(manifest)}: ${problem}`);
}

function namedReferences({ manifest, pod }: Workload, manifests: readonly Manifest[]): string[] {
  const wanted = [
    ...pod.containers.flatMap(({ envFrom }) =>
      envFrom.map(({ configMapRef }) => `ConfigMap/${configMapRef.name}`),
    ),
    ...pod.volumes.flatMap(({ secret }) => (secret === undefined ? [] : [`Secret/${secret.secretName}`])),
    ...pod.volumes.flatMap(({ configMap }) =>
      configMap === undefined ? [] : [`ConfigMap/${configMap.name}`],
    ),
    ...pod.volumes.flatMap(({ persistentVolumeClaim: claim }) =>
      claim === undefined ? [] : [`PersistentVolumeClaim/${claim.claimName}`],
    ),
    ...(pod.serviceAccountName === undefined ? [] : [`ServiceAccount/${pod.serviceAccountName}`]),
  ];
  const present = new Set(manifests.map(nameOf));
  return wanted
    .filter((name) => !present.has(name))
    .map((name) => `${nameOf(manifest)}: there is no ${name}`);
}

const serviceSchema = z.looseObject({
  selector: labels,
  ports: z.array(z.looseObject({ name: z.string(), port: z.number(), targetPort: z.string() })),
});

function selectorProblems(manifest: Manifest, workloads: readonly Workload[]): string[] {
  const select = (selector: Labels) =>
    workloads.filter(({ spec }) => matches(selector, spec.template.metadata.labels));
  if (manifest.kind === 'Service') {
    const { selector, ports } = serviceSchema.parse(manifest.spec);
    const pods = select(selector);
    if (pods.length === 0) return [`${nameOf(manifest)}: selects no pod`];
    const open = pods.flatMap(({ pod }) => pod.containers.flatMap((container) => container.ports));
    return ports
      .filter(({ targetPort }) => !open.some(({ name }) => name === targetPort))
      .map(({ targetPort }) => `${nameOf(manifest)}: no pod has a port ${targetPort}`);
  }
  if (manifest.kind !== 'PodDisruptionBudget' && manifest.kind !== 'PodMonitor') return [];
  const { selector } = z.looseObject({ selector: selectorSchema }).parse(manifest.spec);
  return select(selector.matchLabels).length === 0 ? [`${nameOf(manifest)}: selects no pod`] : [];
}

function targetProblems(manifest: Manifest, manifests: readonly Manifest[]): string[] {
  const find = (name: string) => manifests.find((one) => nameOf(one) === name);
  if (manifest.kind === 'HorizontalPodAutoscaler') {
    const { scaleTargetRef: target } = z
      .looseObject({ scaleTargetRef: z.looseObject({ kind: z.string(), name: z.string() }) })
      .parse(manifest.spec);
    const name = `${target.kind}/${target.name}`;
    return find(name) === undefined ? [`${nameOf(manifest)}: there is no ${name}`] : [];
  }
  return publicPathsOf(manifest).flatMap(({ path, service: name, port }) => {
    const service = find(`Service/${name}`);
    const ports = service === undefined ? [] : serviceSchema.parse(service.spec).ports;
    const isOpen = ports.some((one) => one.name === port || one.port === port);
    return isOpen
      ? []
      : [`${nameOf(manifest)}: ${path} routes to a missing port ${port} of a Service ${name}`];
  });
}

const ingressSchema = z.looseObject({
  rules: z.array(
    z.looseObject({
      host: z.string(),
      http: z.looseObject({
        paths: z.array(
          z.looseObject({
            path: z.string(),
            pathType: z.string(),
            backend: z.looseObject({
              service: z.looseObject({ name: z.string(), port: z.looseObject({ name: z.string() }) }),
            }),
          }),
        ),
      }),
    }),
  ),
});

const routeSchema = z.looseObject({
  hostnames: z.array(z.string()),
  rules: z.array(
    z.looseObject({
      matches: z.array(z.looseObject({ path: z.looseObject({ type: z.string(), value: z.string() }) })),
      backendRefs: z.array(z.looseObject({ name: z.string(), port: z.number() })),
    }),
  ),
});

export interface PublicPath {
  host: string;
  path: string;
  /** As an Ingress names it. */
  pathType: string;
  service: string;
  port: string | number;
}

/** All paths of an Ingress or of an HTTPRoute; none of another object. */
export function publicPathsOf(manifest: Manifest): PublicPath[] {
  if (manifest.kind === 'Ingress') {
    return ingressSchema.parse(manifest.spec).rules.flatMap(({ host, http }) =>
      http.paths.map(({ path, pathType, backend: { service } }) => {
        return { host, path, pathType, service: service.name, port: service.port.name };
      }),
    );
  }
  if (manifest.kind !== 'HTTPRoute') return [];
  const { hostnames, rules } = routeSchema.parse(manifest.spec);
  return hostnames.flatMap((host) =>
    rules.flatMap(({ matches, backendRefs }) =>
      matches.flatMap(({ path: { type, value } }) =>
        backendRefs.map(({ name, port }) => {
          return { host, path: value, pathType: type.replace('PathPrefix', 'Prefix'), service: name, port };
        }),
      ),
    ),
  );
}

function matches(selector: Labels, present: Labels): boolean {
  return Object.entries(selector).every(([name, value]) => present[name] === value);
}
