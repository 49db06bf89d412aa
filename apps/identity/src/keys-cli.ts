import { runCommandLine, UsageError } from '@tessera/service-kit';
import { loadKeysConfig } from './config.ts';
import { KeyRotation } from './keys/key-rotation.ts';

const help = `Usage: node dist/keys-cli.js <command> [options]

Rotates the signing keys in a directory. Each step changes files; the service reads them when it starts.

Commands:
  list                    List every key with its state and the earliest time of its next step.
  next                    Create the next key. It is published but does not sign yet. The first key signs at once.
  activate                Sign with the next key. The previous key stays published.
  retire <kid>            Remove a key that no longer signs from the key set.
  delete <kid>            Delete a key under which no valid token remains.

Options:
  --directory <path>      Directory of the keys. Default: JWT_KEYS_DIR.
  --rollout-seconds <n>   Time that a change takes to reach every replica. Default: 900.
  --at-once               Skip the waiting times, for a leaked key.
  -h, --help              Print this help.

Environment, set as for the service:
  JWT_KEYS_DIR                         Used when --directory is not given.
  JWT_KEY_NAME                         Start of the file names. Default: identity.
  JWT_ACTIVE_KID                       The signing key of a directory that was never rotated and holds several.
  ACCESS_TOKEN_TTL_SECONDS             Determines waiting times. Default: 900.
  REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS   Determines waiting times. Default: 2592000.

Exit codes: 0 success, 1 step refused, 2 invalid command line.

Example:
  node dist/keys-cli.js next --directory /run/secrets/keys
`;

const stepArguments: Readonly<Record<string, number>> = {
  list: 0,
  next: 0,
  activate: 0,
  retire: 1,
  delete: 1,
};

// At once, tokens of the key may still be valid, and the processes that run still accept it.
function remainingSteps(kid: string): string {
  return `These steps remain, because the running services still accept ${kid}:
1. Restart every replica of identity. issues refuses the key at most 10 seconds later.
2. Restart other backends that verify tokens, or wait 10 minutes: they cache the key.
3. If the key has leaked, set SESSIONS_VALID_AFTER to now before step 1: all sessions end. Then read the audit trail.
`;
}

function runStep(rotation: KeyRotation, command: string, kid: string, atOnce: boolean): string {
  if (command === 'next') return `Created ${rotation.createNext()}. Roll it out now.\n`;
  if (command === 'activate') return `${rotation.activate()} signs after the next rollout.\n`;
  if (command === 'retire') {
    rotation.retire(kid);
    return `${kid} leaves the key set with the next rollout.\n`;
  }
  if (command === 'delete') {
    rotation.delete(kid);
    return `Deleted ${kid}.\n${atOnce ? remainingSteps(kid) : ''}`;
  }
  return '';
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

process.exitCode = await runCommandLine(
  {
    name: 'node dist/keys-cli.js',
    help,
    options: {
      directory: { type: 'string' },
      'rollout-seconds': { type: 'string', default: '900' },
      'at-once': { type: 'boolean', default: false },
    },
    allowPositionals: true,
    run: (values, [command, kid = '', ...stray]) => {
      if (command === undefined) throw new UsageError('No command');
      const expected = stepArguments[command];
      if (expected === undefined) throw new UsageError(`Unknown command '${command}'`);
      if (expected === 1 && kid === '') throw new UsageError(`${command} requires a kid`);
      const [unexpected] = expected === 0 && kid !== '' ? [kid] : stray;
      if (unexpected !== undefined) throw new UsageError(`Unexpected argument '${unexpected}'`);
      if (!/^\d{1,7}$/.test(values['rollout-seconds'])) {
        throw new UsageError('--rollout-seconds must be a whole number of up to seven digits');
      }
      try {
        const { directory, keyName, activeKid, lifetimes } = loadKeysConfig();
        const keysDirectory = values.directory ?? directory;
        if (keysDirectory === undefined) throw new UsageError('Pass --directory or set JWT_KEYS_DIR');
        const rotation = new KeyRotation({
          directory: keysDirectory,
          keyName,
          activeKid,
          lifetimes: { ...lifetimes, rolloutSeconds: Number(values['rollout-seconds']) },
          atOnce: values['at-once'],
        });
        process.stdout.write(`${runStep(rotation, command, kid, values['at-once'])}${formatKeys(rotation)}`);
        return 0;
      } catch (error) {
        if (error instanceof UsageError) throw error;
        process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
        return 1;
      }
    },
  },
  process.argv.slice(2),
);
