import { once } from 'node:events';
import { availableParallelism } from 'node:os';
import { forkEntry } from '../run/fork-entry.ts';
import type { Contender, Sample } from '../run/sample.ts';

/** A limit that needs no server: a process that does nothing else than the one operation. */
export interface LimitProcess extends Contender {
  stop(): Promise<void>;
}

/**
 * @param entry a file that answers a number of seconds with the sample of such a window
 * @param args what it is told on its command line
 */
export function startLimit(name: string, entry: URL, args: readonly string[] = []): LimitProcess {
  const environment = { UV_THREADPOOL_SIZE: String(availableParallelism()) };
  const child = forkEntry(entry, { args, environment });
  const exited = once(child, 'exit');
  return {
    name,
    measure: async (seconds) => {
      const ended = exited.then(() => {
        throw new Error(`${name} has ended`);
      });
      const answer = once(child, 'message');
      child.send({ seconds });
      const [sample]: Sample[] = await Promise.race([answer, ended]);
      if (sample === undefined) throw new Error(`${name} measured nothing`);
      return sample;
    },
    stop: async () => {
      child.kill('SIGKILL');
      await exited;
    },
  };
}
