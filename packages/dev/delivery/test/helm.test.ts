import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { checkManifests } from '../src/check-manifests.ts';
import { expectedManifests, ofFirstRevision, switchSets, valuesFor } from '../src/helm/chart-cases.ts';
import { renderWithHelm, runHelm } from '../src/helm/helm.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { type Manifest, nameOf, readManifests } from '../src/manifest.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';
import { workloadsOf } from '../src/workload.ts';

const byName = (manifests: readonly Manifest[]) =>
  Object.fromEntries(manifests.map((manifest) => [nameOf(manifest), manifest]));
const find = (manifests: readonly Manifest[], name: string) =>
  manifests.find((manifest) => nameOf(manifest) === name);

describe('Helm', () => {
  it('renders the objects of the production overlay by default', async () => {
    const production = ofFirstRevision(
      renderKustomization(join(rootDir, 'k8s/overlays/production')).filter(
        ({ kind }) => kind !== 'Namespace',
      ),
    );
    const rendered = await renderWithHelm();
    expect(rendered).toHaveLength(production.length);
    expect(byName(rendered)).toEqual(byName(production));
  });

  it.each(switchSets.map((on) => [on.map(({ value }) => value).join(', ') || 'no switch', on] as const))(
    'renders the objects of kustomize with %s',
    async (_title, on) => {
      const rendered = await renderWithHelm({ values: valuesFor(on) });
      const expected = expectedManifests(on);
      expect(rendered).toHaveLength(expected.length);
      expect(byName(rendered)).toEqual(byName(expected));
    },
  );

  it('renders manifests without problems, with the example secrets', async () => {
    const values = { httpRoute: { enabled: true }, monitoring: { enabled: true } };
    const secrets = readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
    expect(await checkManifests([...(await renderWithHelm({ values })), ...secrets])).toEqual([]);
  });

  it('fills in the values of the user', async () => {
    const values = {
      identity: { image: 'example.com/id:1', host: 'id.test', config: { JWT_ISSUER: 'https://id.test' } },
      autoscaling: { enabled: false },
      issues: { replicas: 5 },
    };
    const rendered = await renderWithHelm({ namespace: 'other', values });
    expect(new Set(rendered.map(({ metadata }) => metadata.namespace))).toEqual(new Set(['other']));
    expect(JSON.stringify(find(rendered, 'Job/identity-migrate-1'))).toContain('"image":"example.com/id:1"');
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

  it('gives every pod the settings of the cluster', async () => {
    const pods = {
      imagePullSecrets: [{ name: 'registry' }],
      nodeSelector: { 'kubernetes.io/arch': 'amd64' },
      tolerations: [{ key: 'dedicated', operator: 'Exists' }],
    };
    const found = workloadsOf(await renderWithHelm({ values: { pods } })).map(({ pod }) => pod);
    expect(found).toHaveLength(8);
    for (const pod of found) expect(pod).toMatchObject(pods);
  });

  it.each([
    ['a value that does not exist', { backups: { enabled: true } }, 'backups is not allowed'],
    ['a member that does not exist', { backup: { enable: true } }, 'enable is not allowed'],
    ['a negative number of pods', { issues: { replicas: -1 } }, 'replicas'],
    ['an empty image', { identity: { image: '' } }, 'image'],
    ['a number in a ConfigMap', { issues: { config: { DATABASE_POOL_MAX: 6 } } }, 'DATABASE_POOL_MAX'],
  ])('refuses %s', async (_title, values, message) => {
    await expect(renderWithHelm({ values })).rejects.toThrow(message);
  });

  it('finds no mistake in the chart, and packs it with its schema', async () => {
    expect(await runHelm(['lint', '--strict', join(rootDir, 'k8s/helm')])).toContain('0 chart(s) failed');
    const folder = mkdtempSync(join(tmpdir(), 'tessera-chart-'));
    try {
      await runHelm(['package', join(rootDir, 'k8s/helm'), '--destination', folder]);
      const file = join(folder, 'tessera-0.1.0.tgz');
      expect(readFileSync(file).byteLength).toBeGreaterThan(5_000);
      const shown = await runHelm(['show', 'values', file]);
      expect(shown.trim()).toBe(readRepositoryFile('k8s/helm/values.yaml').trim());
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
