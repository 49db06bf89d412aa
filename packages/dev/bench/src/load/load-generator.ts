import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { forkEntry } from '../run/server-process.ts';
import type { Load, LoadNews, LoadOrder, LoadResult } from './load.ts';

/** A process that makes load; several loads may run in it side by side. */
export class LoadGenerator {
  readonly #process: ChildProcess;
  readonly #listeners = new Map<number, (news: LoadNews) => void>();
  #orders = 0;

  constructor() {
    this.#process = forkEntry(new URL('./generator.process.ts', import.meta.url));
    this.#process.on('message', (news: LoadNews) => this.#listeners.get(news.id)?.(news));
    this.#process.on('exit', () => {
      for (const [id, listener] of this.#listeners) {
        listener({ id, event: 'failed', message: 'the load generator has ended' });
      }
    });
  }

  /**
   * @param onWindow told when the window opens, and when it closes
   * @throws Error when an answer was not as expected
   */
  async run(
    load: Load,
    onWindow: (event: 'opened' | 'closed') => void = () => undefined,
  ): Promise<LoadResult> {
    const id = ++this.#orders;
    const result = await new Promise<LoadResult>((resolve, reject) => {
      this.#listeners.set(id, (news) => {
        if (news.event === 'done') resolve(news.result);
        else if (news.event === 'failed') reject(new Error(news.message));
        else onWindow(news.event);
      });
      const order: LoadOrder = { id, load };
      this.#process.send(order);
    }).finally(() => this.#listeners.delete(id));
    if (result.problem !== undefined) throw new Error(result.problem);
    return result;
  }

  async stop(): Promise<void> {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    const exited = once(this.#process, 'exit');
    this.#process.kill('SIGKILL');
    await exited;
  }
}
