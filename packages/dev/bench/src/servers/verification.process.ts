import { generateKeyPairSync, type KeyObject, randomUUID, sign } from 'node:crypto';
import { createHistogram } from 'node:perf_hooks';
import { promisify } from 'node:util';
import { createTokenVerifier, localKeySource } from '@tessera/jwt-verify';
import type { Sample } from '../run/sample.ts';
import { serveSamples } from './measure-loop.ts';

const issuer = 'https://identity.example';
const audience = 'tessera';
const signOnThreadPool: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> =
  promisify(sign);
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const keys = localKeySource(new Map([['bench', publicKey]]));
const tokens = await Promise.all(Array.from({ length: 1_000 }, createToken));
const isNew = process.argv[2] === 'new';

function newVerifier() {
  return createTokenVerifier({ kind: 'access', issuer, audience, keys });
}

async function createToken(): Promise<string> {
  const now = Math.floor(Date.now() / 1000);
  const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
  const id = randomUUID();
  const claims = {
    ...{
      sub: id,
      iss: issuer,
      aud: audience,
      iat: now,
      exp: now + 86_400,
      jti: randomUUID(),
      type: 'access',
    },
    ...{ email: `${id}@example.com`, username: id, is_verified: true, is_staff: false, is_superuser: false },
  };
  const input = `${encode({ alg: 'RS256', typ: 'at+jwt', kid: 'bench' })}.${encode(claims)}`;
  const signature = await signOnThreadPool('RSA-SHA256', Buffer.from(input), privateKey);
  return `${input}.${signature.toString('base64url')}`;
}

// A verifier that has seen nothing makes all tokens new again.
async function measure(seconds: number): Promise<Sample> {
  let verifier = newVerifier();
  const latencies = createHistogram();
  const pass = async () => {
    if (isNew) verifier = newVerifier();
    for (const token of tokens) {
      const began = performance.now();
      await verifier.verify(token);
      latencies.record(Math.max(1, Math.round((performance.now() - began) * 1e6)));
    }
  };
  await pass();
  latencies.reset();
  const cpu = process.cpuUsage();
  const began = performance.now();
  let operations = 0;
  while (performance.now() - began < seconds * 1000) {
    await pass();
    operations += tokens.length;
  }
  const elapsed = (performance.now() - began) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  const [p50Ms, p99Ms] = [latencies.percentile(50) / 1e6, latencies.percentile(99) / 1e6];
  return { operations, seconds: elapsed, p50Ms, p99Ms, serverCpuMicros: user + system };
}

serveSamples(measure);
