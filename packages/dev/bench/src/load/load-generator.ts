import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { forkEntry } from '../run/server-process.ts';
import type { Load, LoadEvent, LoadOrder, LoadResult } from './load.ts';

/** A process that generates load. It can run several loads at the same time. */
export class LoadGenerator {
  readonly #process: ChildProcess;
  readonly #listeners = new Map<number, (event: LoadEvent) => void>();
  #orders = 0;

  constructor() {
    this.#process = forkEntry(new URL('./generator.process.ts', import.meta.url));
    this.#process.on('message', (event: LoadEvent) => this.#listeners.get(event.id)?.(event));
    this.#process.on('exit', () => {
      for (const [id, listener] of this.#listeners) {
        listener({ id, event: 'failed', message: 'the load generator has exited' });
      }
    });
  }

  /**
   * @param onWindow called when the window opens and when it closes
   * @throws Error when a response was not as expected
   */
  async run(
    load: Load,
    onWindow: (event: 'opened' | 'closed') => void = () => undefined,
  ): Promise<LoadResult> {
    const id = ++this.#orders;
    const result = await new Promise<LoadResult>((resolve, reject) => {
      this.#listeners.set(id, (event) => {
        if (event.event === 'done') resolve(event.result);
        else if (event.event === 'failed') reject(new Error(event.message));
        else onWindow(event.event);
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
