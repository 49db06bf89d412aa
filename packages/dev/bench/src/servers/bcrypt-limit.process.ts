import { availableParallelism } from 'node:os';
import bcrypt from 'bcrypt';
import { measureLoop, serveSamples } from './measure-loop.ts';

// The default of the service (BCRYPT_COST).
const cost = 10;
const password = 'a password of the bench';
const hash = await bcrypt.hash(password, cost);

async function compare(): Promise<void> {
  if (!(await bcrypt.compare(password, hash))) throw new Error('the password does not match its hash');
}

serveSamples((seconds) =>
  measureLoop(compare, { concurrency: availableParallelism(), warmUpSeconds: 0.5, seconds }),
);
