import { generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import { availableParallelism } from 'node:os';
import { promisify } from 'node:util';
import { measureLoop, serveSamples } from './measure-loop.ts';

const signOnThreadPool: (algorithm: string, data: Buffer, key: KeyObject) => Promise<Buffer> =
  promisify(sign);
const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
// As long as what is signed of an access token.
const input = Buffer.alloc(600, 'x');

// Two signatures: what a rotation cannot do without.
async function signPair(): Promise<void> {
  await Promise.all([
    signOnThreadPool('RSA-SHA256', input, privateKey),
    signOnThreadPool('RSA-SHA256', input, privateKey),
  ]);
}

serveSamples((seconds) =>
  measureLoop(signPair, { concurrency: availableParallelism(), warmUpSeconds: 0.3, seconds }),
);
