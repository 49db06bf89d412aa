import type { Logger } from '@tessera/service-kit';
import type { BlobStore } from './blob-store.ts';

const intervalMs = 30_000;

/** Looks whether the store of new files works. Its outage is a warning: everything else works without files. */
export class StoreMonitor {
  readonly #store: BlobStore;
  readonly #logger: Logger;
  #timer: NodeJS.Timeout | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isDown = false;

  constructor(store: BlobStore, logger: Logger) {
    this.#store = store;
    this.#logger = logger;
  }

  get isDown(): boolean {
    return this.#isDown;
  }

  /** Looks now and from time to time. */
  start(): void {
    this.#looking = this.look();
    this.#timer = setInterval(() => {
      this.#looking = this.look();
    }, intervalMs).unref();
  }

  async look(): Promise<void> {
    const wasDown = this.#isDown;
    try {
      await this.#store.check();
      this.#isDown = false;
      if (wasDown) this.#logger.info({ store: this.#store.name }, 'the store of files works again');
    } catch (error) {
      this.#isDown = true;
      if (!wasDown)
        this.#logger.error({ err: error, store: this.#store.name }, 'the store of files does not work');
    }
  }

  async stop(): Promise<void> {
    clearInterval(this.#timer);
    await this.#looking;
  }
}
