import jsonPatch from 'fast-json-patch';
import { z } from 'zod';
import { type Manifest, nameOf } from '../manifest.ts';

/** A place in an object that the chart fills in: a JSON pointer, and the path of the value. */
interface Place {
  pointer: string;
  value: string;
}

const container = '/spec/template/spec/containers/0';
const cronContainer = `/spec/jobTemplate${container}`;

/** The places of one object. Everything else is as in k8s/. */
function placesOf(manifest: Manifest): Place[] {
  const { name } = manifest.metadata;
  const service = name.split('-')[0] ?? '';
  const isService = name === 'identity' || name === 'issues';
  const place = (pointer: string, value: string) => ({ pointer, value });
  switch (manifest.kind) {
    case 'ConfigMap':
      return isService ? [place('/data', `${service}.config`)] : [];
    case 'Deployment':
      return [
        place('/spec/replicas', `${service}.replicas`),
        place(`${container}/image`, `${service}.image`),
        place(`${container}/resources`, `${service}.resources`),
      ];
    case 'Job':
      return [place(`${container}/image`, `${service}.image`)];
    case 'CronJob':
      return [
        place(`${cronContainer}/image`, 'backup.image'),
        ...(name.endsWith('-backup') ? [place('/spec/schedule', `backup.schedules.${service}`)] : []),
        ...(name.endsWith('-backup') ? [place(`${cronContainer}/env/3/value`, 'backup.keepDays')] : []),
      ];
    case 'PersistentVolumeClaim':
      return [place('/spec/resources/requests/storage', 'backup.storage')];
    case 'HorizontalPodAutoscaler':
      return [
        place('/spec/minReplicas', `autoscaling.${service}.minReplicas`),
        place('/spec/maxReplicas', `autoscaling.${service}.maxReplicas`),
      ];
    case 'Ingress':
      return [
        place('/metadata/annotations', `${service}.ingress.annotations`),
        place('/spec/ingressClassName', 'ingress.className'),
        place('/spec/rules/0/host', `${service}.host`),
        place('/spec/tls/0/hosts/0', `${service}.host`),
      ];
    case 'HTTPRoute':
      return [
        place('/spec/hostnames/0', `${service}.host`),
        place('/spec/parentRefs', 'httpRoute.parentRefs'),
      ];
    case 'NetworkPolicy':
      return isService ? namespacesOf(manifest) : [];
    default:
      return [];
  }
}

const valueOfNamespace: Record<string, string> = {
  'ingress-nginx': 'ingress.namespace',
  monitoring: 'monitoring.namespace',
  gateway: 'httpRoute.namespace',
};
const policySchema = z.looseObject({
  ingress: z.array(
    z.looseObject({
      from: z.array(
        z.looseObject({
          namespaceSelector: z.looseObject({ matchLabels: z.record(z.string(), z.string()) }).optional(),
        }),
      ),
    }),
  ),
});

function namespacesOf({ spec }: Manifest): Place[] {
  return policySchema.parse(spec).ingress.flatMap(({ from }, rule) =>
    from.flatMap(({ namespaceSelector }, peer) => {
      const namespace = namespaceSelector?.matchLabels['kubernetes.io/metadata.name'];
      const value = namespace === undefined ? undefined : valueOfNamespace[namespace];
      const labels = `/spec/ingress/${rule}/from/${peer}/namespaceSelector/matchLabels`;
      return value === undefined ? [] : [{ pointer: `${labels}/kubernetes.io~1metadata.name`, value }];
    }),
  );
}

// A plain scalar in YAML, and in no manifest.
const token = (value: string) => `VALUE-OF.${value}.END`;
const tokens = /VALUE-OF\.([\w.]+)\.END/g;

/** A copy of an object with tokens in the places that the chart fills in. Adds what stood there to the values. */
export function takeValues(manifest: Manifest, values: Map<string, unknown>): Manifest {
  const copy = structuredClone(manifest);
  for (const { pointer, value } of placesOf(manifest)) {
    const found: unknown = readPointer(copy, pointer);
    if (found === undefined) continue;
    const before = values.get(value) ?? found;
    if (JSON.stringify(before) !== JSON.stringify(found))
      throw new Error(`${nameOf(manifest)}${pointer}: ${value} has two defaults.`);
    values.set(value, found);
    jsonPatch.applyOperation(copy, { op: 'replace', path: pointer, value: token(value) });
  }
  if (copy.metadata.namespace !== undefined) copy.metadata.namespace = token('namespace');
  // The template of a Job cannot change: each release of the chart has its own.
  if (copy.kind === 'Job') copy.metadata.name = `${copy.metadata.name}-${token('revision')}`;
  return copy;
}

function readPointer(manifest: Manifest, pointer: string): unknown {
  const keys = pointer.slice(1).split('/');
  let member: unknown = manifest;
  for (const key of keys) {
    if (typeof member !== 'object' || member === null) return undefined;
    member = Reflect.get(member, key.replaceAll('~1', '/'));
  }
  return member;
}

const fromRelease: Record<string, string> = {
  namespace: '{{ .Release.Namespace | toJson }}',
  revision: '{{ .Release.Revision }}',
};

/** One line of a template, of a line of YAML with tokens. */
export function templateLine(line: string): string {
  return line
    .replaceAll('{{', '{{ "{{" }}')
    .replaceAll(tokens, (_token, value: string) => fromRelease[value] ?? `{{ .Values.${value} | toJson }}`);
}
