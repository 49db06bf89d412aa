// Creates kubernetes.schema.json: strict JSON schemas (no additional properties) of the kinds that k8s/ uses, from the
// types of `kubernetes-models` 5.1.0. Run with Node 22 or later in an empty folder:
//   npm install kubernetes-models@5.1.0 ts-json-schema-generator@2.9.0 && node make-schema.mjs
import { writeFileSync } from 'node:fs';
import { createGenerator } from 'ts-json-schema-generator';

const kinds = {
  v1: ['Namespace', 'ConfigMap', 'Secret', 'Service', 'ServiceAccount', 'PersistentVolumeClaim'],
  'apps/v1': ['Deployment', 'StatefulSet'],
  'batch/v1': ['Job', 'CronJob'],
  'networking.k8s.io/v1': ['Ingress', 'NetworkPolicy'],
  'policy/v1': ['PodDisruptionBudget'],
  'autoscaling/v2': ['HorizontalPodAutoscaler'],
};

const definitionOf = {};
const lines = [];
for (const [apiVersion, names] of Object.entries(kinds)) {
  for (const kind of names) {
    definitionOf[`${apiVersion}/${kind}`] = `I${kind}`;
    lines.push(
      `import type { I${kind} } from 'kubernetes-models/${apiVersion}';`,
      `export type ${kind}_ = I${kind};`,
    );
  }
}
writeFileSync('kinds.ts', lines.join('\n'));
writeFileSync(
  'tsconfig.json',
  JSON.stringify({
    compilerOptions: { strict: true, module: 'nodenext', target: 'es2022', skipLibCheck: true, types: [] },
    files: ['kinds.ts'],
  }),
);
const schema = createGenerator({
  path: 'kinds.ts',
  tsconfig: 'tsconfig.json',
  type: '*',
  additionalProperties: false,
  skipTypeCheck: true,
  jsDoc: 'none',
  topRef: false,
}).createSchema('*');
writeFileSync('kubernetes.schema.json', `${JSON.stringify({ definitionOf, ...schema })}\n`);
