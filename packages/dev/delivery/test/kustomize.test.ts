import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { renderKustomization } from '../src/kustomize.ts';

const head = 'apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n';
const thing = 'apiVersion: v1\nkind: ConfigMap\nmetadata: { name: a }\ndata: { image: "x/y:1", B: "1" }\n';

describe('renderKustomization', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'tessera-kustomize-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  const write = (path: string, text: string) => {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  };

  it('combines resources, components, patches and images', () => {
    write('base/kustomization.yaml', `${head}resources: [a.yaml]`);
    write('base/a.yaml', thing);
    write('part/kustomization.yaml', `${head.replace('Kustomization', 'Component')}resources: [b.yaml]`);
    write('part/b.yaml', thing.replace('name: a', 'name: b'));
    const patch =
      'patches: [{ target: { kind: ConfigMap, name: a }, patch: "- { op: replace, path: /data/B, value: z }" }]';
    write(
      'top/kustomization.yaml',
      `${head}resources: [../base]\ncomponents: [../part]\nimages: [{ name: x/y, newTag: "2" }]\n${patch}`,
    );
    const [a, b] = renderKustomization(join(folder, 'top'));
    expect(a).toMatchObject({ metadata: { name: 'a' }, data: { image: 'x/y:2', B: 'z' } });
    expect(b).toMatchObject({ metadata: { name: 'b' }, data: { image: 'x/y:2', B: '1' } });
  });

  it.each([
    ['what it does not know', 'namePrefix: x-', /namePrefix/],
    [
      'a patch of a missing object',
      'patches: [{ target: { kind: ConfigMap, name: z }, patch: "[]" }]',
      /no ConfigMap\/z/,
    ],
    [
      'a patch of a missing path',
      'patches: [{ target: { kind: ConfigMap, name: a }, patch: "- { op: replace, path: /data/C, value: z }" }]',
      /OPERATION_PATH_UNRESOLVABLE|path/i,
    ],
    ['a resource that is not there', 'components: [../nowhere]', /ENOENT/],
  ])('refuses %s', (_name, line, message) => {
    write('kustomization.yaml', `${head}resources: [a.yaml]\n${line}`);
    write('a.yaml', thing);
    expect(() => renderKustomization(folder)).toThrow(message);
  });
});
