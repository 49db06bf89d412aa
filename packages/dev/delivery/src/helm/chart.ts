import { join } from 'node:path';
import { Document, isMap, isScalar, stringify } from 'yaml';
import { z } from 'zod';
import { renderKustomization } from '../kustomize.ts';
import { readRepositoryFile, rootDir } from '../repository.ts';
import { workloadsOf } from '../workload.ts';
import { mergeVariants } from './merge-variants.ts';
import { renderSwitches, type Switch, switches } from './switches.ts';
import { takeValues, templateLine } from './values.ts';
import { valuesSchema } from './values-schema.ts';

/** The files of a chart, by path. */
export type Chart = ReadonlyMap<string, string>;

// In the version of YAML that Helm reads, `on` and `off` are not strings.
export const helmYaml = { version: '1.1' } as const;

const generated =
  '# Generated from the manifests in k8s/ ("pnpm chart" in packages/dev/delivery): change those.\n';

/**
 * The files of the Helm chart, by path. Each object of the base and of the components is a template; a component is a
 * switch around the lines that it adds or removes.
 */
export function makeChart(): Chart {
  const values = new Map<string, unknown>();
  const templates = new Map<string, string>();
  for (const [name, owner] of owners()) {
    const path = pathOf(name);
    templates.set(path, (templates.get(path) ?? generated) + template(name, owner, values));
  }
  for (const [service, image] of imagesOfProduction()) values.set(`${service}.image`, image);
  for (const [name, empty] of Object.entries(podSettings)) values.set(`pods.${name}`, empty);
  for (const { value, isOn } of switches) values.set(`${value}.enabled`, isOn);
  const tree = treeOf(values);
  return new Map([
    ['Chart.yaml', chartFile()],
    ['values.yaml', valuesFile(tree)],
    ['values.schema.json', `${JSON.stringify(valuesSchema(tree), null, 2)}\n`],
    ...templates,
  ]);
}

/** All objects, with the switch that adds each; none for the base. */
function owners(): Map<string, Switch | undefined> {
  const found = new Map<string, Switch | undefined>();
  for (const name of renderSwitches([]).keys()) found.set(name, undefined);
  for (const one of switches)
    for (const name of renderSwitches([one]).keys()) if (!found.has(name)) found.set(name, one);
  return found;
}

function template(name: string, owner: Switch | undefined, values: Map<string, unknown>): string {
  const linesWith = (on: readonly Switch[]) => {
    const manifest = renderSwitches(on).get(name);
    if (manifest === undefined) throw new Error(`There is no ${name}.`);
    const text = stringify(takeValues(manifest, values), {
      ...helmYaml,
      lineWidth: 0,
      aliasDuplicateObjects: false,
    });
    return text.trimEnd().split('\n').map(templateLine);
  };
  const own = owner === undefined ? [] : [owner];
  const variants = switches
    .filter((one) => one !== owner)
    .map((one) => ({ value: one.value, lines: linesWith([...own, one]) }));
  const body = ['---', ...mergeVariants(linesWith(own), variants)];
  const lines =
    owner === undefined ? body : [`{{- if .Values.${owner.value}.enabled }}`, ...body, '{{- end }}'];
  return `${lines.flatMap(addPodSettings).join('\n')}\n`;
}

// Fields of a pod that depend on the cluster, and that k8s/ does not set: an overlay adds them by a patch.
const podSettings = { imagePullSecrets: [], nodeSelector: {}, tolerations: [] };

/** Adds the settings behind the account of a pod, which each pod has. */
function addPodSettings(line: string): string[] {
  const [, indent] = /^( *)serviceAccountName: /.exec(line) ?? [];
  if (indent === undefined) return [line];
  const settings = Object.keys(podSettings).flatMap((name) => [
    `${indent}{{- with .Values.pods.${name} }}`,
    `${indent}${name}: {{ . | toJson }}`,
    `${indent}{{- end }}`,
  ]);
  return [line, ...settings];
}

function pathOf(name: string): string {
  const [kind = '', object = ''] = name.split('/');
  const [service = 'shared'] = /^(identity|issues)\b/.exec(object) ?? [];
  const file = kind.replaceAll(/\B([A-Z])(?=[a-z])/g, '-$1').toLowerCase();
  return `templates/${service}/${file}.yaml`;
}

// The images of the base exist only locally.
function imagesOfProduction(): [string, string][] {
  return workloadsOf(renderKustomization(join(rootDir, 'k8s/overlays/production')))
    .filter(({ manifest }) => manifest.kind === 'Deployment')
    .map(({ manifest, pod }) => [manifest.metadata.name, pod.containers[0]?.image ?? '']);
}

const comments: Record<string, string> = {
  identity: ' `config` is the environment (docs/reference/environment.md); its values are strings.',
  issues: ' `config` is the environment (docs/reference/environment.md); its values are strings.',
  pods: ' Of all pods: the services, the migrations and the backups.',
  ingress: ' The public paths. `namespace` is that of the controller.',
  httpRoute: ' The same paths through the Gateway API.',
  autoscaling: ' Without it, `replicas` of each service. Needs Kubernetes 1.27.',
  databaseTls: ' The CA of the database, in the Secrets identity-db-ca and issues-db-ca.',
  backup: ' Nightly dumps to a volume.',
  monitoring: ' For the Prometheus operator. `namespace` is that of Prometheus, also without the operator.',
  openshift: ' No fixed user id; the DNS of OpenShift.',
};

function treeOf(values: ReadonlyMap<string, unknown>): object {
  const document = new Document(Object.fromEntries(Object.keys(comments).map((section) => [section, {}])));
  const ordered = [...values].sort(([a], [b]) => depth(a) - depth(b));
  for (const [path, value] of ordered) document.setIn(path.split('.'), value);
  return document.toJS();
}

const depth = (path: string) => (path.endsWith('.enabled') ? 0 : path.split('.').length);

function valuesFile(tree: object): string {
  const document = new Document(tree, { ...helmYaml, aliasDuplicateObjects: false });
  document.commentBefore =
    ' The values of the production overlay. Generated ("pnpm chart" in packages/dev/delivery): set yours in a file of your own.';
  if (!isMap(document.contents)) throw new Error('There are no values.');
  for (const { key } of document.contents.items)
    if (isScalar(key)) {
      key.commentBefore = comments[String(key.value)] ?? '';
      key.spaceBefore = key.value !== 'identity';
    }
  return document.toString({ lineWidth: 0 });
}

function chartFile(): string {
  const { version, description } = z
    .object({ version: z.string(), description: z.string() })
    .parse(JSON.parse(readRepositoryFile('package.json')));
  const kubeVersion = '>=1.20.0-0';
  return stringify({
    apiVersion: 'v2',
    name: 'tessera',
    description,
    type: 'application',
    version,
    appVersion: version,
    kubeVersion,
  });
}
