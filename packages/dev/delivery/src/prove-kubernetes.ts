// Deploys to a cluster with the blocks of docs/operations/kubernetes.md and runs the runbooks, read from the files, under steady load: rollouts,
// rotations, lost pods, a failed migration, a restart of PostgreSQL; then lost volumes and the restore; then a release by Helm.
// Run it where the Services can be reached (a node, a pod), on a cluster without the namespace tessera, with the images loaded:
//   pnpm prove:kubernetes [--kubectl 'kubectl --context test'] [--helm 'helm --kube-context test'] [--requests-per-second 20]
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { z } from 'zod';
import { Cluster } from './cluster.ts';
import { shellBlock } from './code-blocks.ts';
import { findHelm } from './helm/helm.ts';
import { renderKustomization } from './kustomize.ts';
import { Load, type Phase } from './load.ts';
import { backUp, failMigration, loseVolumesAndRestore } from './recovery.ts';
import { rootDir } from './repository.ts';
import { Runbooks } from './runbooks.ts';
import { takeTour } from './tour.ts';
import { visitWebApp } from './web-app.ts';

const { values } = parseArgs({
  options: {
    kubectl: { type: 'string', default: 'kubectl' },
    helm: { type: 'string', default: findHelm() ?? 'helm' },
    'requests-per-second': { type: 'string', default: '20' },
  },
});
const cluster = new Cluster(values.kubectl);
const runbooks = new Runbooks(values);
const print = (text: string) => process.stdout.write(`${text}\n`);

async function createPeople(identityUrl: string, serviceToken: string, password: string): Promise<string[]> {
  const name = randomBytes(4).toString('hex');
  const emails = Array.from({ length: 8 }, (_, index) => `load-${name}-${index}@example.com`);
  for (const [index, email] of emails.entries()) {
    const response = await fetch(`${identityUrl}/internal/identities`, {
      method: 'POST',
      headers: { 'X-Service-Token': serviceToken, 'Content-Type': 'application/json' },
      body: JSON.stringify({ email, password, is_staff: index === 0 }),
    });
    if (response.status !== 201) throw new Error(`${email} was not created: ${response.status}`);
  }
  return emails;
}

/** The steps of a rotation, without the waiting times between them: issues fetches the key set for an unknown key. */
async function rotateSigningKey(): Promise<void> {
  const steps = shellBlock('docs/operations/rotate.md', 'Rotate the signing key', 0);
  const early = runbooks.paste(steps).then(
    () => '',
    (error: unknown) => String(error),
  );
  if (!/Too early to activate/.test(await early))
    throw new Error(`A step that is too early was not refused: ${await early}`);
  const [active = ''] = await listKids();
  const later = steps
    .slice(steps.indexOf('keys activate'))
    .replaceAll('identity-key-1', active)
    .replaceAll(/^keys (activate|retire|delete)(.*?) &&/gm, 'keys $1$2 --at-once &&');
  print(await runbooks.paste(later));
}

/** The runbook, which itself forges tokens with the old keys. */
async function replaceLeakedKeys(): Promise<void> {
  const before = await listKids();
  const output = await runbooks.paste(shellBlock('docs/operations/rotate.md', 'A key has leaked', 0));
  for (const kid of before)
    if (!output.includes(`${kid}: accepted`) || !output.includes(`${kid}: refused`))
      throw new Error(`${kid} was not accepted before and refused at the end: ${output}`);
  print(`replaced ${before.join(', ')} by ${(await listKids()).join(', ')}`);
}

async function listKids(): Promise<string[]> {
  const files = Object.keys(await cluster.readSecret('identity-keys')).sort();
  return files.filter((name) => name.endsWith('.pem')).map((name) => name.slice(0, -'.pem'.length));
}

async function losePods(): Promise<void> {
  for (const service of ['identity', 'issues']) {
    await cluster.losePod(`app.kubernetes.io/name=${service},app.kubernetes.io/component=service`);
    await cluster.waitFor(service);
  }
}

async function restartPostgres(): Promise<void> {
  for (const service of ['identity', 'issues']) await cluster.losePod(`tessera/database=${service}`);
  for (const service of ['identity', 'issues']) {
    await cluster.kubectl(['rollout', 'status', `statefulset/${service}-postgres`, '--timeout=300s']);
    await cluster.waitFor(service);
  }
}

function report({ name, requests, failures, slowestMs }: Phase): void {
  const failed = Object.values(failures).reduce((sum, count) => sum + count, 0);
  print(`${name}: ${requests} requests, ${failed} failed, the slowest took ${slowestMs} ms`);
  for (const [what, count] of Object.entries(failures)) print(`  ${count} x ${what}`);
}

async function deploy(): Promise<void> {
  const stop = await runbooks.start(shellBlock('docs/operations/kubernetes.md', 'Deploy', 1));
  try {
    const urls = { identityUrl: 'http://localhost:3001', issuesUrl: 'http://localhost:3002' };
    for (const url of Object.values(urls)) await untilReady(url);
    await runbooks.paste(shellBlock('docs/operations/kubernetes.md', 'Deploy', 2));
    const serviceToken = runbooks.readFile('.data/service-token');
    print(await takeTour({ ...urls, serviceToken }));
    await visitWebApp({ ...urls, serviceToken, origin: urls.issuesUrl });
    const output = await runbooks.paste(
      shellBlock('docs/operations/kubernetes.md', 'The first administrator', 0),
    );
    const [, password = ''] = /^One-time password: (\w+)$/m.exec(output) ?? [];
    const own = { new_password: randomBytes(12).toString('hex') };
    await signIn(urls.identityUrl, 'admin@example.com', password, own);
  } finally {
    stop();
  }
  await runbooks.paste('kubectl apply --kustomize k8s/overlays/production');
}

async function untilReady(url: string): Promise<void> {
  const deadline = performance.now() + 120_000;
  while (!(await fetch(`${url}/readyz`).catch(() => undefined))?.ok) {
    if (performance.now() > deadline) throw new Error(`${url} does not become ready.`);
    await sleep(500);
  }
}

async function signIn(identityUrl: string, email: string, password: string, more = {}): Promise<string> {
  const response = await postJson(`${identityUrl}/token`, {
    grant_type: 'password',
    email,
    password,
    ...more,
  });
  if (response.status !== 200) throw new Error(`${email} cannot sign in: ${response.status}`);
  return z.object({ refresh_token: z.string() }).parse(await response.json()).refresh_token;
}

function postJson(url: string, body: object): Promise<Response> {
  const headers = { 'Content-Type': 'application/json' };
  return fetch(url, { method: 'POST', headers, body: JSON.stringify(body) });
}

type During = (name: string, work: () => Promise<unknown>) => Promise<void>;

/** @throws if a request fails during one of the steps */
async function underLoad(load: Load, steps: (during: During) => Promise<void>): Promise<void> {
  await load.start();
  const phases: Phase[] = [];
  try {
    await steps(async (name, work) => {
      const phase = await load.during(name, work);
      report(phase);
      phases.push(phase);
    });
  } finally {
    await load.stop();
  }
  const failed = phases.filter(({ failures }) => Object.keys(failures).length > 0).map(({ name }) => name);
  if (failed.length > 0) throw new Error(`Requests failed during: ${failed.join(', ')}`);
}

function proveRunbooks(load: Load): Promise<void> {
  return underLoad(load, async (during) => {
    await during('nothing', () => sleep(10_000));
    for (const service of ['identity', 'issues'])
      await during(`rollout of ${service}`, () => cluster.rollOut(service));
    await during('rotation of the signing key', rotateSigningKey);
    await during('rotation of the service token', () =>
      runbooks.paste(
        shellBlock('docs/operations/rotate.md', 'Rotate the service token', 0),
        shellBlock('docs/operations/rotate.md', 'Rotate the service token', 1),
      ),
    );
    await during('rotation of the session keys', () =>
      runbooks.paste(
        shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 0),
        shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 1),
      ),
    );
    await during('loss of a pod of each', losePods);
    await during('failed migration, then an upgrade', () => failMigration({ cluster, runbooks, print }));
    await during('rollback', () => runbooks.paste(shellBlock('docs/operations/upgrade.md', 'Roll back', 0)));
    report(await load.during('restart of PostgreSQL', restartPostgres));
    await sleep(5_000);
    await during('afterwards', () => sleep(10_000));
  });
}

async function proveRestore(
  load: Load,
  identityUrl: string,
  emails: string[],
  password: string,
): Promise<void> {
  const [email = ''] = emails;
  const refreshToken = await signIn(identityUrl, email, password);
  const issuesFile = await backUp({ cluster, runbooks, print });
  await loseVolumesAndRestore({ cluster, runbooks, print }, issuesFile);
  const found = new Set((await cluster.query('issues', 'SELECT id FROM issues')).split('\n'));
  const lost = load.created.filter((id) => !found.has(id));
  print(
    `${load.created.length} issues were acknowledged before the backup, ${lost.length} of them are missing`,
  );
  if (lost.length > 0) throw new Error(`Lost: ${lost.join(', ')}`);
  const { status } = await postJson(`${identityUrl}/token/refresh`, { refresh_token: refreshToken });
  if (status !== 401) throw new Error(`A refresh token of before the restore got ${status}.`);
  for (const one of emails) await signIn(identityUrl, one, password);
  print('The sessions have ended, and everyone can sign in again.');
}

/** People of the running services, and load by them. */
async function prepareLoad() {
  const [identityUrl, issuesUrl] = [await cluster.urlOf('identity'), await cluster.urlOf('issues')];
  const { 'service-token': serviceToken = '' } = await cluster.readSecret('identity-secrets');
  const password = randomBytes(12).toString('hex');
  const emails = await createPeople(identityUrl, serviceToken, password);
  const requestsPerSecond = Number(values['requests-per-second']);
  const load = new Load({ identityUrl, issuesUrl, emails, password, requestsPerSecond });
  return { load, identityUrl, issuesUrl, emails, password };
}

/** The chart with the databases and the configuration of the local overlay: installed, upgraded, rolled back, removed. */
async function proveHelm(): Promise<void> {
  const [secrets = ''] = shellBlock('docs/operations/kubernetes.md', 'Deploy', 1).split('\n');
  await runbooks.paste(secrets, 'kubectl apply --filename k8s/overlays/local/postgres.yaml');
  const install = shellBlock('docs/operations/kubernetes.md', 'Helm', 0);
  runbooks.writeFile('my-values.yaml', JSON.stringify(localValues('250m')));
  print(await runbooks.paste(install));
  const { load } = await prepareLoad();
  await underLoad(load, async (during) => {
    runbooks.writeFile('my-values.yaml', JSON.stringify(localValues('200m')));
    await during('helm upgrade', () => runbooks.paste(install));
    print(await runbooks.paste('finished identity-migrate-2 && finished issues-migrate-2'));
    await during('helm rollback', () =>
      runbooks.paste('helm rollback tessera 1 --namespace tessera --wait', 'finished identity-migrate-1'),
    );
  });
  await runbooks.paste('helm uninstall tessera --namespace tessera');
  const left = await cluster.kubectl([
    'get',
    'deployments,cronjobs,persistentvolumeclaims',
    '--output',
    'name',
  ]);
  const [identity, issues, ...others] = left.split('\n').filter((name) => name.endsWith('-backups'));
  if (identity === undefined || issues === undefined || others.length > 0 || /deployment|cronjob/.test(left))
    throw new Error(`helm uninstall left: ${left}`);
  print('helm uninstall removed the services and left the volumes of the backups.');
}

/** The values that the chart needs to be as the local overlay, with backups. */
function localValues(cpu: string): object {
  const config = Object.fromEntries(
    renderKustomization(join(rootDir, 'k8s/overlays/local'))
      .filter(({ kind }) => kind === 'ConfigMap')
      .map(({ metadata, data }) => [metadata.name, data]),
  );
  const off = { enabled: false };
  const of = (service: string) => ({
    image: `tessera/${service}:local`,
    config: config[service],
    resources: { requests: { cpu } },
  });
  return {
    ...{ ingress: off, autoscaling: off, databaseTls: off, backup: { storage: '1Gi' } },
    ...{ identity: of('identity'), issues: of('issues') },
  };
}

async function removeNamespace(): Promise<void> {
  await cluster.kubectl(['delete', 'namespace', 'tessera', '--ignore-not-found']);
}

async function prove(): Promise<void> {
  await deploy();
  await replaceLeakedKeys();
  const { load, identityUrl, issuesUrl, emails, password } = await prepareLoad();
  await proveRunbooks(load);
  await replaceLeakedKeys();
  await runbooks.paste(shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 2));
  await proveRestore(load, identityUrl, emails, password);
  await visitWebApp({
    ...{ identityUrl, issuesUrl, origin: 'http://localhost:3002' },
    serviceToken: (await cluster.readSecret('identity-secrets'))['service-token'] ?? '',
  });
  await removeNamespace();
  await proveHelm();
  print('Proven.');
}

if ((await cluster.kubectl(['get', 'namespace', 'tessera', '--ignore-not-found'])) !== '')
  throw new Error('The namespace tessera exists. The proof creates it, and deletes it at the end.');
try {
  await prove();
} finally {
  await removeNamespace();
  runbooks.remove();
}
