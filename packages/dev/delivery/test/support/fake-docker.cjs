#!/usr/bin/env node
// A docker for the blocks of the runbooks: it runs the commands in the containers of docker/compose.yaml on this machine. A
// volume is a folder of $VOLUMES, without "-secrets" in its name, and the services of an image have the programs on the path. Fails for a service and an option
// that it does not know, and for a change of a volume that is mounted read-only.
const { appendFileSync, existsSync, readdirSync, readFileSync, statSync } = require('node:fs');
const { spawnSync } = require('node:child_process');
const { join, resolve } = require('node:path');
const { parse } = require('yaml');

const fail = (message) => {
  process.stderr.write(`docker: ${message}\n`);
  process.exit(1);
};
const [compose, fileOption, file, verb, ...rest] = process.argv.slice(2);
if (`${compose} ${fileOption} ${file}` !== 'compose --file docker/compose.yaml')
  fail(`not compose: ${compose}`);
const { services } = parse(readFileSync(file, 'utf8'), { merge: true });
const known = {
  run: ['--rm', '--no-deps', '-T', '--user', '--entrypoint'],
  exec: ['-T'],
  up: ['--wait', '--no-deps', '--force-recreate'],
  stop: [],
};
const options = {};
while (rest[0]?.startsWith('-')) {
  const option = rest.shift();
  if (!known[verb]?.includes(option)) fail(`unknown option of ${verb}: ${option}`);
  options[option] = ['--user', '--entrypoint'].includes(option) ? rest.shift() : true;
}
const [name, ...command] = rest;
const service = services[name] ?? fail(`no service: ${name}`);
appendFileSync(
  `${process.env.VOLUMES}.calls`,
  `${[verb, name, options['--user'], ...command].join(' ').split('\n')[0].trim()}\n`,
);
if (verb !== 'run' && verb !== 'exec') process.exit(0);

const mounts = service.volumes
  .map((volume) => volume.split(':'))
  .filter(([source]) => !source.startsWith('.'))
  .map(([source, target, mode]) => ({
    folder: join(process.env.VOLUMES, source.replace('-secrets', '')),
    target,
    mode,
  }));
// The service "secrets" has all volumes below one folder.
const targets = name === 'secrets' ? [{ folder: process.env.VOLUMES, target: '/secrets' }] : mounts;
const here = (text) =>
  targets.reduce((result, { folder, target }) => result.replaceAll(target, folder), text);
const filesOf = ({ folder }) => {
  if (!existsSync(folder)) fail(`no volume: ${folder}`);
  const names = readdirSync(folder, { recursive: true }).map(String).sort();
  return names.map((path) => `${path} ${statSync(join(folder, path)).mtimeMs}`).join('\n');
};
const readOnly = mounts.filter(({ mode }) => mode === 'ro').map((mount) => [mount, filesOf(mount)]);

const [program, ...args] = verb === 'exec' ? command : [options['--entrypoint'] ?? 'node', ...command];
const root = resolve(__dirname, '../../../../..');
const keysCli = [
  '--conditions=@tessera/source',
  '--import',
  'tsx',
  join(root, 'apps/identity/src/keys-cli.ts'),
];
const given = args.map(here).flatMap((arg) => (arg === 'dist/keys-cli.js' ? keysCli : [arg]));
// Only root may change an owner.
const asRoot = "data:text/javascript,import fs from 'node:fs'; fs.chownSync = () => {}";
const interpolate = (value) =>
  value.replace(/\$\{(\w+):-(.*?)\}/g, (_, key, other) => process.env[key] || other);
const environment = Object.entries(service.environment ?? {}).map(([key, value]) => [
  key,
  here(interpolate(value)),
]);
const { status } = spawnSync(program, program === 'node' ? ['--import', asRoot, ...given] : given, {
  env: { PATH: process.env.PATH, ...Object.fromEntries(environment) },
  // tsx is a dependency of the service.
  ...(program === 'node' ? { cwd: join(root, 'apps/identity') } : {}),
  stdio: 'inherit',
});
for (const [mount, before] of readOnly) if (filesOf(mount) !== before) fail(`${mount.target} is read-only`);
process.exit(status ?? 1);
