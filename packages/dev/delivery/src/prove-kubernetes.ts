// Runs the README's tour against a cluster with the local overlay, then rollouts, both rotations, lost pods and a restart
// of PostgreSQL under steady load. Run it where the Services can be reached (a node, a pod):
//   pnpm prove:kubernetes [--kubectl 'kubectl --context test'] [--requests-per-second 20]
import { randomBytes } from 'node:crypto';
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import { Cluster } from './cluster.ts';
import { run } from './command.ts';
import { Load, type Phase } from './load.ts';
import { rootDir } from './repository.ts';
import { takeTour } from './tour.ts';
import { visitWebApp } from './web-app.ts';

const { values } = parseArgs({
  options: {
    kubectl: { type: 'string', default: 'kubectl' },
    'requests-per-second': { type: 'string', default: '20' },
  },
});
const cluster = new Cluster(values.kubectl);
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

// The runbook's steps. No wait between them, because issues fetches the key set for an unknown key.
async function rotateSigningKey(): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'tessera-keys-'));
  try {
    for (const [name, text] of Object.entries(await cluster.readSecret('identity-keys')))
      writeFileSync(join(folder, name), text, { mode: 0o600 });
    for (const step of [['next'], ['activate', '--at-once']]) {
      print(
        await run('node', [join(rootDir, 'apps/identity/dist/keys-cli.js'), ...step, '--directory', folder]),
      );
      const files = readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]);
      await cluster.writeSecret('identity-keys', Object.fromEntries(files));
      await cluster.rollOut('identity');
    }
  } finally {
    rmSync(folder, { recursive: true });
  }
}

async function rotateServiceToken(): Promise<void> {
  const { 'service-token': old = '' } = await cluster.readSecret('identity-secrets');
  const next = randomBytes(32).toString('base64url');
  for (const previous of [old, '']) {
    for (const service of ['identity', 'issues']) {
      const secret = await cluster.readSecret(`${service}-secrets`);
      const changed = { ...secret, 'service-token': next, 'service-token-previous': previous };
      await cluster.writeSecret(`${service}-secrets`, changed);
      await cluster.rollOut(service);
    }
  }
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

async function prove(): Promise<void> {
  for (const service of ['identity', 'issues']) await cluster.waitFor(service);
  const [identityUrl, issuesUrl] = [await cluster.urlOf('identity'), await cluster.urlOf('issues')];
  const { 'service-token': serviceToken = '' } = await cluster.readSecret('identity-secrets');
  print(await takeTour({ identityUrl, issuesUrl, serviceToken }));
  await visitWebApp({ identityUrl, issuesUrl, serviceToken, origin: 'http://localhost:3002' });
  const password = randomBytes(12).toString('hex');
  const load = new Load({
    identityUrl,
    issuesUrl,
    emails: await createPeople(identityUrl, serviceToken, password),
    password,
    requestsPerSecond: Number(values['requests-per-second']),
  });
  await load.start();
  const phases: Phase[] = [];
  const during = async (name: string, work: () => Promise<unknown>) => {
    const phase = await load.during(name, work);
    report(phase);
    phases.push(phase);
  };
  try {
    await during('nothing', () => sleep(10_000));
    await during('rollout of identity', () => cluster.rollOut('identity'));
    await during('rollout of issues', () => cluster.rollOut('issues'));
    await during('rotation of the signing key', rotateSigningKey);
    await during('rotation of the service token', rotateServiceToken);
    await during('loss of a pod of each', losePods);
    report(await load.during('restart of PostgreSQL', restartPostgres));
    await sleep(5_000);
    await during('afterwards', () => sleep(10_000));
  } finally {
    await load.stop();
  }
  const failed = phases.filter(({ failures }) => Object.keys(failures).length > 0).map(({ name }) => name);
  if (failed.length > 0) throw new Error(`Requests failed during: ${failed.join(', ')}`);
  print('Proven.');
}

await prove();
