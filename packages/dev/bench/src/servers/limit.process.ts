import { generateKeyPairSync, randomUUID } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { createHistogram } from 'node:perf_hooks';
import { setImmediate as nextTurn, setTimeout as sleep } from 'node:timers/promises';
import { createTokenVerifier, localKeySource } from '@tessera/jwt-verify';
import bcrypt from 'bcrypt';
import { SignJWT } from 'jose';
import type { Sample } from '../run/sample.ts';
import { signLikeToken } from './rs256.ts';

const warmUpSeconds = 0.5;
const cores = availableParallelism();

interface Limit {
  operation: () => Promise<unknown>;
  /** The number of concurrent operations. */
  concurrency: number;
  /** The number of measured units of one operation. */
  units: number;
}

const limits = {
  bcrypt: async (): Promise<Limit> => {
    // The default of the service (BCRYPT_COST).
    const hash = await bcrypt.hash('a password', 10);
    const operation = async () => {
      if (!(await bcrypt.compare('a password', hash))) throw new Error('the password does not match');
    };
    return { operation, concurrency: cores, units: 1 };
  },
  // The minimum cost of a rotation.
  signing: async (): Promise<Limit> => ({
    operation: () => Promise.all([signLikeToken(), signLikeToken()]),
    concurrency: cores,
    units: 1,
  }),
  'verify-known-token': () => verification(() => undefined),
  // A new verifier has an empty cache, so every token is new.
  'verify-new-token': () => verification(newVerifier),
};

export type LimitName = keyof typeof limits;

const identity = { issuer: 'https://identity.example', audience: 'tessera' };
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });

function newVerifier() {
  return createTokenVerifier({
    ...identity,
    kind: 'access',
    keys: localKeySource(new Map([['bench', publicKey]])),
  });
}

/** Verifies a thousand tokens, one after the other, with the verifier that `replace` returns or with the last one. */
async function verification(replace: () => ReturnType<typeof newVerifier> | undefined): Promise<Limit> {
  const tokens = await Promise.all(Array.from({ length: 1_000 }, createToken));
  let verifier = newVerifier();
  const operation = async () => {
    verifier = replace() ?? verifier;
    for (const token of tokens) await verifier.verify(token);
    // Verification of a known token never leaves the microtask queue, so timers would not run.
    await nextTurn();
  };
  return { operation, concurrency: 1, units: tokens.length };
}

function createToken(): Promise<string> {
  const id = randomUUID();
  const flags = { is_verified: true, is_staff: false, is_superuser: false };
  return new SignJWT({ type: 'access', email: `${id}@example.com`, username: id, ...flags })
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'bench' })
    .setSubject(id)
    .setIssuer(identity.issuer)
    .setAudience(identity.audience)
    .setJti(randomUUID())
    .setIssuedAt()
    .setExpirationTime('1 day')
    .sign(privateKey);
}

/** Repeats the operation and measures how often it completes, and the processor time of this process. */
async function measure({ operation, concurrency, units }: Limit, windowSeconds: number): Promise<Sample> {
  const latencies = createHistogram();
  let isOpen = false;
  let isOver = false;
  let operations = 0;
  const work = Promise.all(
    Array.from({ length: concurrency }, async () => {
      while (!isOver) {
        const began = performance.now();
        await operation();
        if (!isOpen) continue;
        operations += units;
        latencies.record(Math.max(1, Math.round(((performance.now() - began) * 1e6) / units)));
      }
    }),
  );
  await sleep(warmUpSeconds * 1000);
  const cpu = process.cpuUsage();
  const opened = performance.now();
  isOpen = true;
  await sleep(windowSeconds * 1000);
  isOpen = false;
  const seconds = (performance.now() - opened) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  isOver = true;
  await work;
  const [p50Ms, p99Ms] = [latencies.percentile(50) / 1e6, latencies.percentile(99) / 1e6];
  return { operations, seconds, p50Ms, p99Ms, serverCpuMicros: user + system };
}

function isLimitName(name: string): name is LimitName {
  return name in limits;
}

const name = process.argv[2] ?? '';
if (!isLimitName(name)) throw new Error(`there is no limit "${name}"`);
const limit = await limits[name]();

// Each `{ seconds }` from the bench is answered with a sample.
process.on('message', ({ seconds }: { seconds: number }) => {
  measure(limit, seconds).then(
    (sample) => process.send?.(sample),
    (error: unknown) => {
      console.error(error);
      process.exit(1);
    },
  );
});
// Ctrl-C reaches every process of a terminal. The bench stops this one.
process.on('SIGINT', () => undefined);
process.on('disconnect', () => process.exit());
