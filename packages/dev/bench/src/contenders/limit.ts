import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import type { Scope } from '../lab/scope.ts';
import type { Contender, Sample } from '../run/sample.ts';
import { forkEntry } from '../run/server-process.ts';
import type { LimitName } from '../servers/limit.process.ts';

export const bcryptLimitName = 'bcrypt.compare on all cores';
export const signingLimitName = 'two RS256 signatures on the thread pool';

/** A limit that needs no server: a process that repeats one operation. It stops when the scope closes. */
export function startLimit(scope: Scope, name: string, limit: LimitName): Contender {
  const child = forkEntry(new URL('../servers/limit.process.ts', import.meta.url), {
    args: [limit],
    variables: { UV_THREADPOOL_SIZE: String(availableParallelism()) },
  });
  const exited = once(child, 'exit');
  scope.defer(async () => {
    child.kill('SIGKILL');
    await exited;
  });
  return {
    name,
    measure: async (seconds) => {
      const failed = exited.then(() => {
        throw new Error(`the process of "${name}" has exited`);
      });
      const answer = once(child, 'message');
      child.send({ seconds });
      const [sample]: Sample[] = await Promise.race([answer, failed]);
      if (sample === undefined) throw new Error(`the process of "${name}" measured nothing`);
      return sample;
    },
  };
}
