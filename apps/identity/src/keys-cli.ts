import { parseArgs } from 'node:util';
import { ConfigError } from '@tessera/service-kit';
import { loadKeysConfig } from './config.ts';
import { KeyRotation, RotationRefusal } from './keys/key-rotation.ts';

const help = `Rotates the signing keys in a directory. Each step changes files; the service reads them when it starts.

  node dist/keys-cli.js list            lists every key with its state and the earliest time of its next step
  node dist/keys-cli.js next            creates the next key; it is published but does not sign yet
  node dist/keys-cli.js activate        signs with the next key; the previous key stays published
  node dist/keys-cli.js retire <kid>    removes a key that no longer signs from the key set
  node dist/keys-cli.js delete <kid>    deletes a key under which no valid token remains

  --directory <path>       directory of the keys; default JWT_KEYS_DIR
  --rollout-seconds <n>    time that a change takes to reach every replica; default 900
  --at-once                skips the waiting times, for a leaked key

The waiting times depend on ACCESS_TOKEN_TTL_SECONDS and REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS. Set both as for the service.
Exit codes: 0 success, 1 step refused, 64 usage error.
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
  const keysDirectory = values.directory ?? directory;
  if (keysDirectory === undefined) throw new UsageError('Pass --directory or set JWT_KEYS_DIR.');
  const rotation = new KeyRotation({
    directory: keysDirectory,
    keyName,
    activeKid,
    lifetimes: { ...lifetimes, rolloutSeconds: Number(values['rollout-seconds']) },
    atOnce: values['at-once'],
  });
  const message = runStep(rotation, command, kid);
  return message === '' ? formatKeys(rotation) : `${message}\n${formatKeys(rotation)}`;
}

class UsageError extends Error {}

function runStep(rotation: KeyRotation, command: string, kid: string | undefined): string {
  if (command === 'list') return '';
  if (command === 'next') return `Created ${rotation.createNext()}. Roll it out now.`;
  if (command === 'activate') return `${rotation.activate()} signs after the next rollout.`;
  if (command !== 'retire' && command !== 'delete') throw new UsageError(`Unknown command: ${command}.`);
  if (kid === undefined) throw new UsageError(`${command} requires a kid.`);
  rotation[command](kid);
  return command === 'retire' ? `${kid} leaves the key set with the next rollout.` : `Deleted ${kid}.`;
}

function formatKeys(rotation: KeyRotation): string {
  return rotation
    .list()
    .map(({ kid, state, since, next }) => {
      const nextStep = next === undefined ? '' : `  ${next.step} from ${next.from.toISOString()}`;
      return `${kid}  ${state.padEnd(11)}  since ${since.toISOString()}${nextStep}\n`;
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
