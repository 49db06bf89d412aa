import { availableParallelism } from 'node:os';
import { measureLoop, serveSamples } from './measure-loop.ts';
import { signLikeToken } from './rs256.ts';

// Two signatures: what a rotation cannot do without.
async function signPair(): Promise<void> {
  await Promise.all([signLikeToken(), signLikeToken()]);
}

serveSamples((seconds) =>
  measureLoop(signPair, { concurrency: availableParallelism(), warmUpSeconds: 0.3, seconds }),
);
