#!/usr/bin/env node
// A kubectl for the blocks of docs/operations/kubernetes.md. Its cluster is the file $CLUSTER: the names of the objects, the Secrets and the
// ConfigMaps. Fails for an object that does not exist, for a Job that exists already, and for arguments that it does not know.
const { appendFileSync, existsSync, readFileSync, renameSync, writeFileSync } = require('node:fs');
const { spawnSync } = require('node:child_process');

const file = process.env.CLUSTER;
const cluster = JSON.parse(readFileSync(file, 'utf8'));
const args = process.argv.slice(2);
appendFileSync(`${file}.calls`, `${args.join(' ')}\n`);
// A block starts several commands at once, and none of them must read half a file.
const save = () => {
  writeFileSync(`${file}.${process.pid}`, JSON.stringify(cluster));
  renameSync(`${file}.${process.pid}`, file);
};
const fail = (message) => {
  save();
  process.stderr.write(`kubectl: ${message}\n`);
  process.exit(1);
};
if (args[0] === '--namespace') {
  if (args[1] !== 'tessera') fail(`a wrong namespace: ${args[1]}`);
  args.splice(0, 2);
}
const [verb, ...rest] = args;
const option = (name) => {
  const index = rest.findIndex((arg) => arg === name || arg.startsWith(`${name}=`));
  if (index === -1) return undefined;
  return rest[index].includes('=') ? rest[index].slice(name.length + 1) : (rest[index + 1] ?? '');
};
/** The objects that the arguments name, after options with `=`: `kind/name ...` or `kind name ...`. */
function named(from) {
  const words = from.slice(from.findIndex((arg) => !arg.startsWith('-')));
  const end = words.findIndex((arg) => arg.startsWith('-'));
  const [first = '', ...others] = end === -1 ? words : words.slice(0, end);
  return first.includes('/') ? [first, ...others] : others.map((name) => `${first}/${name}`);
}
const has = (name) => cluster.objects.includes(name);
const need = (names) => {
  if (names.length === 0) fail(`no object in: ${args.join(' ')}`);
  for (const name of names) if (!has(name)) fail(`${name} not found`);
  return names;
};
const add = (names) => {
  for (const name of names) {
    if (name.startsWith('job/') && has(name)) fail(`${name}: field is immutable`);
    if (!has(name)) cluster.objects.push(name);
  }
};
function addFile(path) {
  if (path !== '-') return existsSync(path) ? undefined : fail(`${path} does not exist`);
  add(JSON.parse(readFileSync(0, 'utf8')).items.map(nameOf));
}
const nameOf = ({ kind, metadata }) => `${kind.toLowerCase()}/${metadata.name}`;

const verbs = {
  create() {
    if (rest[0] === 'namespace') return add([`namespace/${rest[1]}`]);
    if (option('--filename') !== undefined) return addFile(option('--filename'));
    if (rest[0] !== 'job') fail(`cannot create ${rest[0]}`);
    need([option('--from')]);
    if (has(`job/${rest[1]}`)) fail(`job/${rest[1]} already exists`);
    add([`job/${rest[1]}`]);
  },
  apply() {
    const folder = option('--kustomize');
    if (folder !== undefined) {
      if (!existsSync(`${folder}/kustomization.yaml`)) fail(`${folder} is no kustomization`);
      const selected = option('--selector') === undefined ? folder : `${folder} ${option('--selector')}`;
      const objects = cluster.overlays[selected] ?? fail(`nothing is selected by ${selected}`);
      return add(objects.filter((name) => !name.startsWith('job/') || !has(name) || option('--selector')));
    }
    addFile(option('--filename'));
  },
  delete() {
    const names = named(rest);
    if (!rest.includes('--ignore-not-found')) need(names);
    cluster.objects = cluster.objects.filter((name) => !names.includes(name));
  },
  get() {
    // The rollouts of this cluster replace every pod at once, so that none is terminating.
    if (rest[0] === 'pods') return;
    const [name] = need(named(rest));
    const [, key] = /^jsonpath=\{\.data\.([\w-]+)\}$/.exec(option('--output')) ?? [];
    if (key !== undefined)
      process.stdout.write(Buffer.from(cluster.secrets[name][key] ?? '').toString('base64'));
    else if (name.startsWith('job/')) process.stdout.write(`${cluster.condition}\n`);
    else fail(`unknown output: ${option('--output')}`);
  },
  patch() {
    const [name] = need(named(rest));
    const { stringData, data } = JSON.parse(option('--patch'));
    const target = name.startsWith('secret/') ? cluster.secrets[name] : cluster.configMaps[name];
    Object.assign(target, stringData ?? data);
  },
  exec() {
    need([rest.find((arg) => arg.includes('/'))]);
    const [program, ...command] = rest.slice(rest.indexOf('--') + 1);
    const here = command.map((arg) => arg.replaceAll('/run/secrets/tessera', cluster.secretFolder));
    const env = { PATH: process.env.PATH, ...cluster.environment };
    const { status } = spawnSync(program, here, { env, stdio: 'inherit' });
    if (status !== 0) fail(`the command ended with ${status}`);
  },
  logs: () => (rest[0] === '--selector' ? undefined : need(named(rest))),
  wait() {
    need(named(rest));
    if (option('--for') !== `condition=${cluster.condition.toLowerCase()}`)
      fail('timed out waiting for the condition');
  },
  rollout: () => need(named(rest.slice(1))),
  set: () => (rest[0] === 'env' ? need([rest[1]]) : fail(`cannot set ${rest[0]}`)),
  scale: () => need(named(rest)),
  label: () => need([`namespace/${rest.at(-2)}`]),
  'port-forward': () => need(named(rest)),
};
(verbs[verb] ?? (() => fail(`unknown command: ${verb}`)))();
// Port forwarding runs in the background, beside other commands.
if (verb !== 'port-forward') save();
