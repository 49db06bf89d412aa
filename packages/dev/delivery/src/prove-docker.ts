// Builds the images, starts the compose project, runs the README's tour, visits the web app, checks the containers, and removes everything.
// Needs a Docker engine with compose, and curl.
import { z } from 'zod';
import { run } from './command.ts';
import { rootDir } from './repository.ts';
import { takeTour } from './tour.ts';
import { visitWebApp } from './web-app.ts';

const print = (text: string) => process.stdout.write(`${text}\n`);
const compose = (...args: string[]) =>
  run('docker', ['compose', '--file', 'docker/compose.yaml', ...args], { cwd: rootDir });

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

const readToken = "fs.readFileSync('/run/secrets/tessera/service-token', 'utf8').trim()";

async function prove(): Promise<void> {
  await compose('build');
  await compose('up', '--wait', '--wait-timeout', '180');
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
  const serviceToken = (await compose('exec', '-T', 'identity', 'node', '--print', readToken)).trim();
  const urlOf = async (service: string) =>
    `http://localhost:${(await compose('port', service, '3000')).trim().split(':').at(-1)}`;
  const urls = { identityUrl: await urlOf('identity'), issuesUrl: await urlOf('issues') };
  print(await takeTour({ ...urls, serviceToken }));
  await visitWebApp({ ...urls, serviceToken, origin: urls.issuesUrl });
  print('The web app serves its pages and signs people in.');
  const startedAt = performance.now();
  await compose('stop', 'identity', 'issues');
  print(`stopped in ${Math.round(performance.now() - startedAt)} ms`);
  const states = await compose('ps', '--all', '--format', '{{.Service}} {{.ExitCode}}', 'identity', 'issues');
  if (/ [1-9]/.test(states)) throw new Error(`A service did not exit with 0:\n${states}`);
  print('Proven.');
}

try {
  await prove();
} finally {
  await compose('down', '--volumes');
}
