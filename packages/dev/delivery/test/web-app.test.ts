import { statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { z } from 'zod';
import { run } from '../src/command.ts';
import { renderKustomization } from '../src/kustomize.ts';
import { type Manifest, nameOf, readManifests } from '../src/manifest.ts';
import { publicPathsOf } from '../src/references.ts';
import { readRepositoryFile, rootDir } from '../src/repository.ts';
import { pagePolicy } from '../src/web-app.ts';
import { workloadsOf } from '../src/workload.ts';

const source = readRepositoryFile('apps/issues/src/web-app/web-app.ts');
const dataSchema = z.record(z.string(), z.string());

function find(manifests: readonly Manifest[], name: string): Manifest {
  const found = manifests.find((manifest) => nameOf(manifest) === name);
  if (found === undefined) throw new Error(`There is no ${name}.`);
  return found;
}

describe.each(['production', 'local'])('the web app in the overlay %s', (overlay) => {
  const manifests = renderKustomization(join(rootDir, 'k8s/overlays', overlay));
  const configOf = (name: string) => dataSchema.parse(find(manifests, `ConfigMap/${name}`).data);

  it('is on, at the address of the cookie, behind as many proxies as there are', () => {
    const isLocal = overlay === 'local';
    expect(configOf('issues')).toMatchObject({
      WEB_APP: 'on',
      PUBLIC_BASE_URL: isLocal ? 'http://localhost:3002' : 'https://issues.example.com',
      TRUST_PROXY: isLocal ? 'off' : '1',
    });
    // The pods of issues are the one proxy of a sign-in.
    expect(configOf('identity').TRUST_PROXY).toBe('1');
  });

  it('has the sign-in on the pages of identity in the local overlay, and the form elsewhere', () => {
    const isLocal = overlay === 'local';
    expect([configOf('issues').SIGN_IN, configOf('identity').HOSTED_SIGN_IN]).toEqual(
      isLocal ? ['hosted', 'on'] : [undefined, undefined],
    );
  });

  it('has its session keys from the Secret of issues, which identity does not mount', () => {
    for (const { manifest, pod } of workloadsOf(manifests)) {
      if (manifest.kind !== 'Deployment' || !/^(?:identity|issues)$/.test(manifest.metadata.name)) continue;
      const isIssues = manifest.metadata.name === 'issues';
      const [container] = pod.containers;
      const hasKeys = container?.env.some(({ name }) => name.startsWith('SESSION_KEYS'));
      expect(hasKeys).toBe(isIssues);
      if (!isIssues) continue;
      expect(container?.env).toContainEqual({
        name: 'SESSION_KEYS_FILE',
        value: '/run/secrets/tessera/session-keys',
      });
      expect(container?.volumeMounts).toContainEqual(
        expect.objectContaining({ name: 'secrets', mountPath: '/run/secrets/tessera' }),
      );
      expect(pod.volumes).toContainEqual(
        expect.objectContaining({
          name: 'secrets',
          secret: expect.objectContaining({ secretName: 'issues-secrets' }),
        }),
      );
    }
  });

  it('reaches identity, and is reached by the ingress controller only', () => {
    const peer = { matchLabels: { 'app.kubernetes.io/component': 'service' } };
    const pods = (name: string) => ({
      podSelector: { matchLabels: { 'app.kubernetes.io/name': name, ...peer.matchLabels } },
    });
    const ports = [{ protocol: 'TCP', port: 3000 }];
    const { spec } = find(manifests, 'NetworkPolicy/issues');
    expect(spec).toMatchObject({
      egress: expect.arrayContaining([{ to: [pods('identity')], ports }]),
      ingress: [
        { from: [{ namespaceSelector: expect.anything() }], ports },
        { from: [{ namespaceSelector: expect.anything() }], ports: [{ protocol: 'TCP', port: 9464 }] },
      ],
    });
    expect(find(manifests, 'NetworkPolicy/identity').spec).toMatchObject({
      ingress: expect.arrayContaining([{ from: [pods('issues')], ports }]),
    });
  });
});

describe('the ingress of the web app', () => {
  const manifests = renderKustomization(join(rootDir, 'k8s/overlays/production'));
  const ingress = find(manifests, 'Ingress/issues');
  const rules = publicPathsOf(ingress);
  const isRouted = (path: string) =>
    rules.some(({ path: rule, pathType }) =>
      pathType === 'Exact' ? path === rule : path === rule || path.startsWith(`${rule}/`),
    );

  it('routes all pages, files and requests of the app to issues', () => {
    const [, list = ''] = /^export const pagePaths = \[(.*?)\];$/ms.exec(source) ?? [];
    const pages = [...list.matchAll(/'([^']+)'/g)].map(([, path = '']) => path.replace(/:\w+/, 'x'));
    expect(pages).toContain('/issues/x');
    const paths = ['/', ...pages, '/assets/index.js', '/app/session', '/app/api/v1/issues/'];
    expect(paths.filter((path) => !isRouted(path))).toEqual([]);
    expect(['/metrics', '/readyz', '/healthz', '/internal/x'].filter(isRouted)).toEqual([]);
    for (const { service } of rules) expect(service).toBe('issues');
  });

  it('leaves the headers of the pages as they are', () => {
    expect(Object.keys(ingress.metadata.annotations ?? {}).sort()).toEqual([
      'cert-manager.io/cluster-issuer',
      'nginx.ingress.kubernetes.io/proxy-body-size',
      'nginx.ingress.kubernetes.io/proxy-next-upstream',
      'nginx.ingress.kubernetes.io/proxy-request-buffering',
      'nginx.ingress.kubernetes.io/ssl-redirect',
    ]);
    const [, list = ''] = /^const pagePolicy = \[(.*?)\]\.join/ms.exec(source) ?? [];
    expect([...list.matchAll(/"([^"]+)"|^ {2}'([^']+)'/gm)].map(([, a, b]) => a ?? b).join('; ')).toBe(
      pagePolicy,
    );
    // The list is of constants: the policy is the same in all environments.
    expect(list).not.toMatch(/\$\{|env/);
  });
});

describe('the web app in compose', () => {
  const { services } = parse(readRepositoryFile('docker/compose.yaml'), { merge: true });
  const { issues, identity } = services;

  it('is on, with its address and session keys', () => {
    expect(issues.environment).toMatchObject({
      WEB_APP: 'on',
      PUBLIC_BASE_URL: expect.stringMatching(/^http:\/\/localhost:\$\{ISSUES_PORT:-3002\}$/),
      SESSION_KEYS_FILE: '/run/secrets/tessera/session-keys',
    });
    expect(issues.volumes).toEqual(['issues-secrets:/run/secrets/tessera:ro']);
    // Browsers connect directly, so an X-Forwarded-For of theirs must not count.
    expect(issues.environment).not.toHaveProperty('TRUST_PROXY');
    expect(identity.environment).toMatchObject({ TRUST_PROXY: 'uniquelocal' });
    expect(JSON.stringify(identity)).not.toContain('session-keys');
  });

  it('is built into the image', () => {
    const ignored = readRepositoryFile('docker/Dockerfile.dockerignore').split('\n');
    for (const pattern of ['**/web', '**/*.css', '**/*.html', 'apps/issues/web'])
      expect(ignored).not.toContain(pattern);
    const { scripts, files } = JSON.parse(readRepositoryFile('apps/issues/package.json'));
    expect([scripts.build, files]).toEqual([
      'tsc -p tsconfig.build.json && vite build web',
      expect.arrayContaining(['dist']),
    ]);
    expect(readRepositoryFile('docker/Dockerfile')).toMatch(
      /^RUN turbo run build --filter="@tessera\/\$\{APP\}"$/m,
    );
    expect(readRepositoryFile('apps/issues/web/vite.config.ts')).toContain("outDir: '../dist/web'");
  });
});

describe('the session keys', () => {
  const isKey = (text: unknown) => Buffer.from(String(text), 'base64url').length === 32;

  it('are created for compose and the local overlay, and are in the example', async () => {
    const { items } = JSON.parse(await run('node', ['k8s/make-secrets.mjs'], { cwd: rootDir }));
    const example = readManifests(readRepositoryFile('k8s/examples/secrets.yaml'));
    const generated = dataSchema.parse(find(items, 'Secret/issues-secrets').stringData);
    expect(isKey(generated['session-keys'])).toBe(true);
    expect(dataSchema.parse(find(example, 'Secret/issues-secrets').stringData)).toHaveProperty(
      'session-keys',
    );
    expect(dataSchema.parse(find(items, 'Secret/identity-secrets').stringData)).not.toHaveProperty(
      'session-keys',
    );
    expect(readRepositoryFile('docker/make-secrets.mjs')).toContain(
      "ensureSecret('issues/session-keys', () => randomBytes(32).toString('base64url'))",
    );
  });
});

it.each([
  ['README.md', 4],
  ['docs/web-app.md', 4],
])('%s has %i small pictures', (document, count) => {
  const paths = [...readRepositoryFile(document).matchAll(/!\[[^\]]+\]\(([^)]+\.png)\)/g)].map(
    ([, path = '']) => join(rootDir, dirname(document), path),
  );
  expect(paths).toHaveLength(count);
  for (const path of paths) expect(statSync(path).size).toBeLessThanOrEqual(150_000);
});
