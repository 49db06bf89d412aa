// Creates kubernetes.schema.json: strict JSON schemas (no additional properties) of the kinds that k8s/ uses, from the
// types of `kubernetes-models` and of its packages for operators. Run with Node 22 or later in an empty folder:
//   npm install kubernetes-models@5.1.0 @kubernetes-models/{gateway-api@2.0.0,prometheus-operator@6.0.0} \
//     @kubernetes-models/external-secrets@2.0.0 ts-json-schema-generator@2.9.0 && node make-schema.mjs
import { writeFileSync } from 'node:fs';
import { createGenerator } from 'ts-json-schema-generator';

const packages = {
  'kubernetes-models': {
    v1: ['Namespace', 'ConfigMap', 'Secret', 'Service', 'ServiceAccount', 'PersistentVolumeClaim'],
    'apps/v1': ['Deployment', 'StatefulSet'],
    'batch/v1': ['Job', 'CronJob'],
    'networking.k8s.io/v1': ['Ingress', 'NetworkPolicy'],
    'policy/v1': ['PodDisruptionBudget'],
    'autoscaling/v2': ['HorizontalPodAutoscaler'],
  },
  '@kubernetes-models/gateway-api': { 'gateway.networking.k8s.io/v1': ['Gateway', 'HTTPRoute'] },
  '@kubernetes-models/prometheus-operator': { 'monitoring.coreos.com/v1': ['PodMonitor', 'PrometheusRule'] },
  '@kubernetes-models/external-secrets': { 'external-secrets.io/v1': ['ExternalSecret'] },
};

writeFileSync(
  'tsconfig.json',
  JSON.stringify({
    compilerOptions: { strict: true, module: 'nodenext', target: 'es2022', skipLibCheck: true, types: [] },
    files: ['kinds.ts'],
  }),
);

const definitionOf = {};
const definitions = {};
// Each package by itself, because two packages may have a type of the same name.
for (const [name, groups] of Object.entries(packages)) {
  const prefix = name === 'kubernetes-models' ? '' : `${name.split('/')[1]}.`;
  const lines = [];
  for (const [apiVersion, kinds] of Object.entries(groups)) {
    for (const kind of kinds) {
      definitionOf[`${apiVersion}/${kind}`] = `${prefix}I${kind}`;
      lines.push(
        `import type { I${kind} } from '${name}/${apiVersion}';`,
        `export type ${kind}_ = I${kind};`,
      );
    }
  }
  writeFileSync('kinds.ts', lines.join('\n'));
  const schema = createGenerator({
    path: 'kinds.ts',
    tsconfig: 'tsconfig.json',
    type: '*',
    additionalProperties: false,
    skipTypeCheck: true,
    jsDoc: 'none',
    topRef: false,
  }).createSchema('*');
  const prefixed = JSON.stringify(schema.definitions).replaceAll('#/definitions/', `#/definitions/${prefix}`);
  for (const [key, definition] of Object.entries(JSON.parse(prefixed))) {
    definitions[`${prefix}${key}`] = definition;
  }
}
const $schema = 'http://json-schema.org/draft-07/schema#';
writeFileSync('kubernetes.schema.json', `${JSON.stringify({ definitionOf, $schema, definitions })}\n`);
