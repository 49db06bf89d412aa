import { availableParallelism } from 'node:os';

/** `UV_THREADPOOL_SIZE` as docs/reference/environment.md recommends: a thread per core for hashes, two more for signatures. */
export const threadPoolSize = String(availableParallelism() + 2);
