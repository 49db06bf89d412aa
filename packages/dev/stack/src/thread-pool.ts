import { availableParallelism } from 'node:os';

/** `UV_THREADPOOL_SIZE` as identity's README recommends: a thread per core for hashes, two more for signatures. */
export const threadPoolSize = String(availableParallelism() + 2);
