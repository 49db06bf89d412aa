import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { Ajv } from 'ajv';
import { checkManifests } from '../src/check-manifests.ts';
import { makeChart } from '../src/helm/chart.ts';
import { expectedManifests, switchSets, valuesFor } from '../src/helm/chart-cases.ts';
import { mergeVariants } from '../src/helm/merge-variants.ts';
import { mergeValues, readValues, renderChart } from '../src/helm/render-chart.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { type Manifest, nameOf, readManifests } from '../src/manifest.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';

const folder = join(rootDir, 'k8s/helm');
const files = readdirSync(folder, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile())
  .map((entry) => join(entry.parentPath, entry.name).slice(folder.length + 1));
const chart = new Map(files.map((file) => [file, readRepositoryFile(join('k8s/helm', file))]));
const release = { namespace: 'tessera', revision: 7 };

const byName = (manifests: readonly Manifest[]) =>
  Object.fromEntries(manifests.map((manifest) => [nameOf(manifest), manifest]));
const find = (manifests: readonly Manifest[], name: string) =>
  manifests.find((manifest) => nameOf(manifest) === name);

describe('the Helm chart', () => {
  it('is generated from the manifests: "pnpm chart" changes nothing', () => {
    expect(Object.fromEntries(chart)).toEqual(Object.fromEntries(makeChart()));
  });

  it('renders the objects of the production overlay by default', () => {
    const production = renderKustomization(join(rootDir, 'k8s/overlays/production'))
      .filter(({ kind }) => kind !== 'Namespace')
      .map((manifest) => {
        if (manifest.kind === 'Job') manifest.metadata.name += '-7';
        return manifest;
      });
    const rendered = renderChart(chart, {}, release);
    expect(rendered).toHaveLength(production.length);
    expect(byName(rendered)).toEqual(byName(production));
  });

  it.each(switchSets.map((on) => [on.map(({ value }) => value).join(', ') || 'no switch', on] as const))(
    'renders the objects of kustomize with %s',
    (_title, on) => {
      const rendered = renderChart(chart, valuesFor(on), release);
      const expected = expectedManifests(on, release);
      expect(rendered).toHaveLength(expected.length);
      expect(byName(rendered)).toEqual(byName(expected));
    },
  );

  it('renders manifests without problems, with the example secrets', async () => {
    const values = { httpRoute: { enabled: true }, monitoring: { enabled: true } };
    const secrets = readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
    expect(await checkManifests([...renderChart(chart, values, release), ...secrets])).toEqual([]);
  });

  it('fills in the values of the user', () => {
    const values = {
      identity: { image: 'example.com/id:1', host: 'id.test', config: { JWT_ISSUER: 'https://id.test' } },
      autoscaling: { enabled: false },
      issues: { replicas: 5 },
    };
    const rendered = renderChart(chart, values, { namespace: 'other', revision: 2 });
    expect(new Set(rendered.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['other']));
    expect(JSON.stringify(find(rendered, 'Job/identity-migrate-2'))).toContain('"image":"example.com/id:1"');
    expect(find(rendered, 'Deployment/issues')?.spec).toMatchObject({ replicas: 5 });
    expect(find(rendered, 'Ingress/identity')?.spec).toMatchObject({
      rules: [{ host: 'id.test' }],
      tls: [{ hosts: ['id.test'] }],
    });
    expect(find(rendered, 'ConfigMap/identity')?.data).toMatchObject({
      JWT_ISSUER: 'https://id.test',
      PASSWORD_BLOCKLIST: 'on',
    });
  });

  it('has a schema that accepts its values and refuses unknown ones', () => {
    const validate = new Ajv({ allErrors: true }).compile(JSON.parse(chart.get('values.schema.json') ?? ''));
    const check = (values: Record<string, unknown>) => validate(mergeValues(readValues(chart), values));
    expect(check({})).toBe(true);
    expect(check({ identity: { config: { AUDIT_RETENTION_DAYS: '30' } } })).toBe(true);
    expect(check({ backups: { enabled: true } })).toBe(false);
    expect(check({ backup: { enable: true } })).toBe(false);
    expect(check({ issues: { config: { DATABASE_POOL_MAX: 6 } } })).toBe(false);
  });
});

describe('renderChart', () => {
  const render = (template: string) =>
    renderChart(
      new Map([
        ['values.yaml', 'a: { enabled: true }'],
        ['templates/x.yaml', template],
      ]),
      {},
      release,
    );

  it.each([
    ['a function', '{{ include "x" . }}', /unknown template/],
    ['a value that is not there', 'a: {{ .Values.b.c | toJson }}', /no value b\.c/],
    ['an if without an end', '{{- if .Values.a.enabled }}', /without an end/],
    ['an end without an if', '{{- end }}', /without an if/],
  ])('refuses %s', (_name, template, message) => {
    expect(() => render(template)).toThrow(message);
  });
});

it('mergeVariants refuses two switches that remove the same line', () => {
  const variants = ['x', 'y'].map((value) => ({ value, lines: ['a'] }));
  expect(() => mergeVariants(['a', 'b'], variants)).toThrow('y and x remove the line b');
});
