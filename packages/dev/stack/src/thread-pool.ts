import { availableParallelism } from 'node:os';

/** `UV_THREADPOOL_SIZE` as identity's README wants it: hashes fill the cores, and signatures find a thread. */
export const threadPoolSize = String(availableParallelism() + 2);
