import { availableParallelism } from 'node:os';

/** Where programs are found; the services get nothing else of this process's environment. */
export const searchPath = process.env.PATH;

/** `UV_THREADPOOL_SIZE` as identity's README wants it: hashes fill the cores, and signatures find a thread. */
export const threadPoolSize = String(availableParallelism() + 2);
