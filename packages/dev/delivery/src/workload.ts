import { z } from 'zod';
import type { Manifest } from './manifest.ts';

const labels = z.record(z.string(), z.string());
const probe = z.looseObject({}).optional();
const quantities = z.looseObject({ cpu: z.string().optional(), memory: z.string().optional() }).default({});

const containerSchema = z.looseObject({
  name: z.string(),
  image: z.string(),
  command: z.array(z.string()).default([]),
  ports: z.array(z.looseObject({ name: z.string(), containerPort: z.number() })).default([]),
  env: z.array(z.looseObject({ name: z.string(), value: z.string().optional() })).default([]),
  envFrom: z.array(z.looseObject({ configMapRef: z.looseObject({ name: z.string() }) })).default([]),
  volumeMounts: z.array(z.looseObject({ name: z.string(), mountPath: z.string() })).default([]),
  startupProbe: probe,
  livenessProbe: probe,
  readinessProbe: probe,
  lifecycle: z
    .looseObject({ preStop: z.looseObject({ exec: z.looseObject({ command: z.array(z.string()) }) }) })
    .optional(),
  resources: z
    .looseObject({ requests: quantities, limits: quantities })
    .default({ requests: {}, limits: {} }),
  securityContext: z.looseObject({ readOnlyRootFilesystem: z.boolean().optional() }).default({}),
});

const podSchema = z.looseObject({
  serviceAccountName: z.string().optional(),
  automountServiceAccountToken: z.boolean().optional(),
  terminationGracePeriodSeconds: z.number().default(30),
  topologySpreadConstraints: z.array(z.looseObject({ topologyKey: z.string() })).default([]),
  containers: z.array(containerSchema).min(1),
  volumes: z
    .array(
      z.looseObject({
        name: z.string(),
        secret: z.looseObject({ secretName: z.string() }).optional(),
        configMap: z.looseObject({ name: z.string() }).optional(),
        persistentVolumeClaim: z.looseObject({ claimName: z.string() }).optional(),
      }),
    )
    .default([]),
});

const specSchema = z.looseObject({
  strategy: z
    .looseObject({
      rollingUpdate: z.looseObject({ maxUnavailable: z.union([z.number(), z.string()]) }).optional(),
    })
    .optional(),
  selector: z.looseObject({ matchLabels: labels }).optional(),
  volumeClaimTemplates: z.array(z.looseObject({ metadata: z.looseObject({ name: z.string() }) })).default([]),
  template: z.looseObject({ metadata: z.looseObject({ labels }), spec: podSchema }),
});

/** The fields of a Deployment, StatefulSet, Job or CronJob that the rules check. */
export interface Workload {
  manifest: Manifest;
  spec: z.infer<typeof specSchema>;
  pod: z.infer<typeof podSchema>;
}

const kinds = new Set(['Deployment', 'StatefulSet', 'Job', 'CronJob']);

const cronSchema = z.looseObject({ jobTemplate: z.looseObject({ spec: z.unknown() }) });
const jobOf = ({ spec }: Manifest) => cronSchema.parse(spec).jobTemplate.spec;

export function workloadsOf(manifests: readonly Manifest[]): Workload[] {
  return manifests
    .filter(({ kind }) => kinds.has(kind))
    .map((manifest) => {
      const spec = specSchema.parse(manifest.kind === 'CronJob' ? jobOf(manifest) : manifest.spec);
      return { manifest, spec, pod: spec.template.spec };
    });
}
