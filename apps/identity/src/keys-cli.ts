import { parseArgs } from 'node:util';
import { ConfigError } from '@tessera/service-kit';
import { loadKeysConfig } from './config.ts';
import { KeyRotation, RotationRefusal } from './keys/key-rotation.ts';

const help = `Rotates the signing keys of a folder. Each step changes files; the service reads them when it starts.

  node dist/keys-cli.js list            every key, its state, and when its next step may be taken
  node dist/keys-cli.js next            makes the next key: it is published, and does not sign yet
  node dist/keys-cli.js activate        the next key signs; the last one stays published
  node dist/keys-cli.js retire <kid>    a key that signs no more leaves the key set
  node dist/keys-cli.js delete <kid>    the key goes, when nothing lives under it any more

  --directory <path>       the folder; default JWT_KEYS_DIR
  --rollout-seconds <n>    how long a change takes to reach every replica; default 900
  --at-once                waits for nothing: a key has leaked

The waiting times follow from ACCESS_TOKEN_TTL_SECONDS and REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS, which must be set as for
the service. Exits with 0, with 1 where a step is refused, with 64 where the command cannot be read.
`;

function runCli(args: string[]): string {
  const { values, positionals } = parseArgs({
    args,
    allowPositionals: true,
    options: {
      directory: { type: 'string' },
      'rollout-seconds': { type: 'string', default: '900' },
      'at-once': { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const [command, kid] = positionals;
  if (values.help || command === undefined) return help;
  if (!/^\d{1,7}$/.test(values['rollout-seconds']))
    throw new UsageError('--rollout-seconds must be a number.');
  const { directory, keyName, activeKid, lifetimes } = loadKeysConfig();
  const folder = values.directory ?? directory;
  if (folder === undefined) throw new UsageError('Give --directory, or set JWT_KEYS_DIR.');
  const rotation = new KeyRotation({
    directory: folder,
    keyName,
    activeKid,
    lifetimes: { ...lifetimes, rolloutSeconds: Number(values['rollout-seconds']) },
    atOnce: values['at-once'],
  });
  const said = take(rotation, command, kid);
  return said === '' ? describe(rotation) : `${said}\n${describe(rotation)}`;
}

class UsageError extends Error {}

function take(rotation: KeyRotation, command: string, kid: string | undefined): string {
  if (command === 'list') return '';
  if (command === 'next') return `Made ${rotation.makeNext()}. Roll it out now.`;
  if (command === 'activate') return `${rotation.activate()} signs from the next rollout on.`;
  if (command !== 'retire' && command !== 'delete') throw new UsageError(`There is no command ${command}.`);
  if (kid === undefined) throw new UsageError(`${command} which key?`);
  rotation[command](kid);
  return command === 'retire' ? `${kid} leaves the key set with the next rollout.` : `${kid} is gone.`;
}

function describe(rotation: KeyRotation): string {
  return rotation
    .list()
    .map(({ kid, state, since, next }) => {
      const then = next === undefined ? '' : `  ${next.step} from ${next.from.toISOString()}`;
      return `${kid}  ${state.padEnd(11)}  since ${since.toISOString()}${then}\n`;
    })
    .join('');
}

try {
  process.stdout.write(runCli(process.argv.slice(2)));
} catch (error) {
  const known = error instanceof RotationRefusal || error instanceof ConfigError;
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = known ? 1 : 64;
}
