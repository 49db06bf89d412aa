import { randomBytes } from 'node:crypto';
import type { Stack } from '@tessera/stack';
import type { Outcomes } from './client-table.ts';
import type { Outcome, Target } from './outcome.ts';

/** Creates an identity, and runs clients with the default settings and with both options changed. */
export async function runInBothSettings(
  stack: Stack,
  run: (target: Target) => Promise<Outcome[]>,
): Promise<Outcomes> {
  const credentials = { email: 'client@example.com', password: randomBytes(12).toString('hex') };
  const { status } = await stack.internal.post('/internal/identities', credentials);
  if (status !== 201) throw new Error(`The identity was not created: ${status}`);
  const target = { issuer: stack.urls.identity, audience: 'tessera', ...credentials };
  const byDefault = await run(target);
  for (const identity of stack.identities) {
    await identity.stop();
    await identity.start({ TOKEN_ENDPOINT_REFRESH: 'on', ACCESS_TOKEN_TYP: 'JWT' });
  }
  return { byDefault, withOptions: await run(target) };
}
