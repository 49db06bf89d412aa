// Builds the images, runs the blocks of docker/README.md and the tour, visits the web app, checks the containers,
// upgrades, also with a migration that fails, runs the runbooks, and removes everything. Needs a Docker engine with compose on this machine, curl, git and openssl. The release is that of HEAD.
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { z } from 'zod';
import { shellBlock } from './code-blocks.ts';
import { run } from './command.ts';
import { FakeRegistry } from './fake-registry.ts';
import { renderKustomization } from './kustomize.ts';
import { rootDir } from './repository.ts';
import { takeTour } from './tour.ts';
import { visitWebApp } from './web-app.ts';
import { workloadsOf } from './workload.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);
const compose = (...args: string[]) =>
  run('docker', ['compose', '--file', 'docker/compose.yaml', ...args], { cwd: rootDir });
const paste = (block: string, cwd = rootDir) =>
  run('bash', ['-euo', 'pipefail', '-s'], { cwd, input: block });
const folder = mkdtempSync(join(tmpdir(), 'tessera-docker-'));

// The revision in the labels of the images from which the proof upgrades. Those of a build without a revision have "unknown".
const previous = 'previous';
const revisionLabel = 'org.opencontainers.image.revision';

interface Urls {
  identityUrl: string;
  issuesUrl: string;
}

/** The message of work that must fail. @throws if it does not */
async function failureOf(work: Promise<unknown>): Promise<string> {
  const failure = await work.then(
    () => undefined,
    (error: unknown) => String(error),
  );
  if (failure === undefined) throw new Error('The block must fail.');
  return failure;
}

const containerSchema = z
  .array(
    z.object({
      Config: z.object({ User: z.string() }),
      HostConfig: z.object({
        ReadonlyRootfs: z.boolean(),
        CapDrop: z.array(z.string()).nullable(),
        CapAdd: z.array(z.string()).nullable(),
        SecurityOpt: z.array(z.string()),
      }),
    }),
  )
  .length(1);

async function assertHardened(service: string): Promise<void> {
  const id = (await compose('ps', '--quiet', service)).trim();
  const [container] = containerSchema.parse(JSON.parse(await run('docker', ['inspect', id])));
  const { ReadonlyRootfs, CapDrop, CapAdd, SecurityOpt } = container?.HostConfig ?? {};
  const status = await run('docker', [
    'exec',
    id,
    'node',
    '--print',
    "fs.readFileSync('/proc/1/status', 'utf8')",
  ]);
  const capabilities = [...status.matchAll(/^Cap\w+:\s+0+$/gm)].length;
  const facts = {
    user: container?.Config.User,
    uid: /^Uid:\s+(\d+)/m.exec(status)?.[1],
    readOnly: ReadonlyRootfs,
    dropped: CapDrop?.join(),
    added: CapAdd?.length ?? 0,
    noNewPrivileges: SecurityOpt?.includes('no-new-privileges:true'),
    emptyCapabilitySets: capabilities,
  };
  const wanted = {
    user: '1000:1000',
    uid: '1000',
    readOnly: true,
    dropped: 'ALL',
    added: 0,
    noNewPrivileges: true,
    emptyCapabilitySets: 5,
  };
  print(`${service}: ${JSON.stringify(facts)}`);
  if (JSON.stringify(facts) !== JSON.stringify(wanted))
    throw new Error(`${service} is not hardened as expected.`);
}

async function assertOwnSecretsOnly(): Promise<void> {
  const token = await compose(
    'exec',
    '-T',
    'identity',
    'node',
    '--print',
    "process.getuid() + ' ' + fs.existsSync('/run/secrets/tessera/migration-database-url')",
  );
  if (token.trim() !== '1000 false') throw new Error(`The service can read the owner's password: ${token}`);
}

/** The administrator that the block creates signs in with the printed password. */
async function assertAdministrator(block: string, identityUrl: string): Promise<void> {
  const [, email, password] = /^(\S+@\S+), (\S+)$/m.exec(await paste(block)) ?? [];
  const response = await fetch(`${identityUrl}/token`, {
    method: 'POST',
    headers: { 'Content-Type': 'application/json' },
    body: JSON.stringify({ grant_type: 'password', email, password }),
  });
  if (response.status !== 200) throw new Error(`The administrator cannot sign in: ${response.status}`);
  print(`${email} signed in.`);
}

/** Builds and pushes a release in a copy of the repository. The production overlay of the copy then names its images. */
async function assertRelease(): Promise<void> {
  const copy = join(folder, 'release');
  await run('git', ['clone', '--quiet', rootDir, copy]);
  const registry = new FakeRegistry();
  const address = await registry.start();
  const git = (...args: string[]) => run('git', args, { cwd: copy });
  const release = (to: string) =>
    paste(`export REGISTRY=${to}\n${shellBlock('docker/README.md', 'The image', 0)}`, copy);
  const tag = (await git('rev-parse', '--short=12', 'HEAD')).trim();
  const images = ['identity', 'issues'].map((app) => `tessera/${app}:${tag}`);
  try {
    const dead = await failureOf(release('127.0.0.1:1'));
    if (!dead.includes('127.0.0.1:1') || (await git('status', '--porcelain')) !== '')
      throw new Error(`A failed push changed the overlay, or failed for another reason: ${dead}`);
    print('A push that fails leaves the overlay as it is.');
    await release(address);
    const deployed = workloadsOf(renderKustomization(join(copy, 'k8s/overlays/production')))
      .flatMap(({ pod }) => pod.containers.map(({ image }) => image))
      .filter((image) => image.includes('tessera/'));
    for (const image of images) {
      if (!registry.manifests.has(image)) throw new Error(`${image} was not pushed.`);
      if (!deployed.includes(`${address}/${image}`)) throw new Error(`${image} is not deployed: ${deployed}`);
    }
    print(`pushed and named in the overlay: ${images.join(', ')}`);
  } finally {
    registry.stop();
    const tagged = images.flatMap((image) => [image, `${address}/${image}`, `127.0.0.1:1/${image}`]);
    await run('docker', ['rmi', '--force', ...tagged]).catch(() => undefined);
  }
}

async function readinessOf(urls: Urls): Promise<string> {
  const readiness = Object.values(urls).map(async (url) => (await fetch(`${url}/readyz`)).status);
  return (await Promise.all(readiness)).join();
}

/**
 * Upgrades from the previous release: first with a migration that fails, which must leave the containers of the services as they
 * are, then without.
 */
async function assertUpgrade(urls: Urls): Promise<void> {
  const upgrade = shellBlock('docker/README.md', 'Upgrade', 0);
  const containers = () => compose('ps', '--quiet', 'identity', 'issues');
  const revisions = async () =>
    (
      await run('docker', [
        'inspect',
        '--format',
        `{{index .Config.Labels "${revisionLabel}"}}`,
        ...(await containers()).trim().split('\n'),
      ])
    )
      .trim()
      .split('\n')
      .join();
  const sql = (statement: string) =>
    compose('exec', '-T', 'postgres', 'psql', '--username=postgres', '--command', statement);
  const before = await containers();
  await sql('ALTER ROLE issues_owner NOLOGIN');
  const failure = await failureOf(paste(upgrade));
  if (!failure.includes('issues_owner')) throw new Error(`The upgrade failed for another reason: ${failure}`);
  const after = {
    containers: await containers(),
    readiness: await readinessOf(urls),
    revisions: await revisions(),
  };
  if (
    JSON.stringify(after) !==
    JSON.stringify({ containers: before, readiness: '200,200', revisions: `${previous},${previous}` })
  )
    throw new Error(`A failed migration changed the running release: ${JSON.stringify(after)}`);
  print('A migration that fails leaves the running release as it is.');
  await sql('ALTER ROLE issues_owner LOGIN');
  const gap = await longestGap(Object.values(urls), () => paste(upgrade));
  if ((await readinessOf(urls)) !== '200,200' || (await revisions()) !== 'unknown,unknown')
    throw new Error(`Not upgraded: ${await revisions()}`);
  print(`upgraded; the services were interrupted for at most ${gap} ms`);
}

/** Rotates tokens and keys, and backs up and restores, with the blocks of the runbooks in their order. */
async function assertRunbooks(): Promise<void> {
  const [next = ''] = shellBlock('docs/operations/rotate.md', 'Rotate the signing key', 0).split('\n');
  const backUp = shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 0);
  const restore = shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 2);
  const of = (service: string, block: string) => block.replace(/SERVICE=(?:identity)?/, `SERVICE=${service}`);
  const blocks = [
    shellBlock('docs/operations/runbooks.md', 'Functions for compose', 0),
    shellBlock('docs/operations/rotate.md', 'Rotate the service token', 0),
    shellBlock('docs/operations/rotate.md', 'Rotate the service token', 1),
    shellBlock('docs/operations/rotate.md', 'Rotate the session keys', 0),
    next,
    shellBlock('docs/operations/rotate.md', 'A key has leaked', 0),
    backUp,
    shellBlock('docs/operations/backup.md', 'With compose and stand-alone', 1),
    of('identity', restore),
    shellBlock('docs/operations/backup.md', 'Lost secrets', 0),
    'roll_out identity && roll_out issues',
    of('issues', backUp),
    'stop issues',
    "postgres psql --username postgres --dbname postgres --command 'DROP DATABASE issues WITH (FORCE)'",
    of('issues', shellBlock('docs/operations/backup.md', 'One lost database', 0)),
    of('issues', restore),
  ];
  // A copy, because a runbook writes docker/.env and the backups.
  cpSync(join(rootDir, 'docker'), join(folder, 'docker'), { recursive: true });
  const output = await paste(blocks.join('\n'), folder);
  if (!/: accepted\n.*: refused\n/s.test(output))
    throw new Error(`The leaked key is not replaced: ${output}`);
  print('The runbooks rotate the tokens and keys, and restore backups, the secrets and a lost database.');
}

/** The longest time in milliseconds that one of the servers was not ready during the work. */
async function longestGap(urls: readonly string[], work: () => Promise<unknown>): Promise<number> {
  let isDone = false;
  const watch = async (url: string) => {
    let longest = 0;
    for (let readyAt = performance.now(); !isDone; await sleep(20)) {
      const isReady = await fetch(`${url}/readyz`).then(
        ({ ok }) => ok,
        () => false,
      );
      longest = Math.max(longest, performance.now() - readyAt);
      if (isReady) readyAt = performance.now();
    }
    return longest;
  };
  const watches = urls.map(watch);
  await work().finally(() => {
    isDone = true;
  });
  return Math.round(Math.max(...(await Promise.all(watches))));
}

async function prove(): Promise<void> {
  await paste(`export TESSERA_REVISION=${previous}\ndocker compose --file docker/compose.yaml build`);
  await paste(shellBlock('docker/README.md', 'Images and compose', 0));
  print(await compose('ps', '--all', '--format', 'table {{.Name}}\t{{.Status}}'));
  for (const service of ['identity', 'issues']) {
    await assertHardened(service);
    const image = (await compose('images', '--quiet', service)).trim();
    const [size, layers] = (
      await run('docker', ['inspect', '--format', '{{.Size}} {{len .RootFS.Layers}}', image])
    ).split(' ');
    print(`${service}: ${Math.round(Number(size) / 1e6)} MB in ${layers?.trim()} layers`);
  }
  await assertOwnSecretsOnly();
  const urlOf = async (service: string) =>
    `http://localhost:${(await compose('port', service, '3000')).trim().split(':').at(-1)}`;
  const urls = { identityUrl: await urlOf('identity'), issuesUrl: await urlOf('issues') };
  const here = (block: string) =>
    block.replaceAll('.data', folder).replaceAll('http://localhost:3001', urls.identityUrl);
  await paste(here(shellBlock('docker/README.md', 'Images and compose', 1)));
  const serviceToken = readFileSync(join(folder, 'service-token'), 'utf8').trim();
  await assertAdministrator(here(shellBlock('docker/README.md', 'Images and compose', 2)), urls.identityUrl);
  print(await takeTour({ ...urls, serviceToken }));
  await visitWebApp({ ...urls, serviceToken, origin: urls.issuesUrl });
  print('The web app serves its pages and signs people in.');
  await assertUpgrade(urls);
  await assertRunbooks();
  const startedAt = performance.now();
  await compose('stop', 'identity', 'issues');
  print(`stopped in ${Math.round(performance.now() - startedAt)} ms`);
  const states = await compose('ps', '--all', '--format', '{{.Service}} {{.ExitCode}}', 'identity', 'issues');
  if (/ [1-9]/.test(states)) throw new Error(`A service did not exit with 0:\n${states}`);
  await assertRelease();
  print('Proven.');
}

try {
  await prove();
} finally {
  await compose('down', '--volumes');
  rmSync(folder, { recursive: true });
}
