import { clientDisconnected, type ProblemError, unavailableProblem } from '@tessera/service-kit';

/** The address and the account of a job, by which the queue shares its slots. */
export interface HashClient {
  address: string;
  account: string;
}

interface WaitingJob {
  client: HashClient;
  start: () => void;
  refuse: (problem: ProblemError) => void;
}

interface RunOptions {
  signal?: AbortSignal | undefined;
  client?: HashClient | undefined;
}

/** Receives the wait and run time of each job. */
export interface HashQueueObserver {
  onStart: (waitedSeconds: number) => void;
  onEnd: (workedSeconds: number) => void;
}

interface HashQueueOptions {
  /** Maximum number of parallel jobs. Must be less than libuv's pool size: DNS, files and signatures share the pool. */
  concurrency: number;
  /** Maximum number of waiting jobs. */
  maxWaiting: number;
  /** Maximum wait, in milliseconds. */
  timeoutMs: number;
  observer?: HashQueueObserver;
}

/**
 * A bounded queue that serves addresses round robin, and the accounts of an address round robin, so that many sign-ins
 * of one client do not delay other clients. If the queue is full, a new job replaces the newest job of the address or
 * account with the most jobs; if the new job belongs to that address or account, it is refused. A job is dropped when
 * its client disconnects.
 */
export class HashQueue {
  readonly #options: HashQueueOptions;
  readonly #waiting = new WaitingJobs();
  #running = 0;

  constructor(options: HashQueueOptions) {
    this.#options = options;
  }

  /** Number of waiting jobs. */
  get depth(): number {
    return this.#waiting.size;
  }

  /**
   * Runs a job when a slot is free. The job receives `waited`: if true, data read before the wait may be stale.
   * Throws a 503 problem if the queue is full or the wait exceeds the timeout.
   */
  async run<Result>(job: (waited: boolean) => Promise<Result>, options: RunOptions = {}): Promise<Result> {
    const { concurrency, observer } = this.#options;
    const waited = this.#running >= concurrency;
    const queuedAt = performance.now();
    if (waited) await this.#wait(options);
    else this.#running += 1;
    const startedAt = performance.now();
    observer?.onStart((startedAt - queuedAt) / 1000);
    try {
      return await job(waited);
    } finally {
      observer?.onEnd((performance.now() - startedAt) / 1000);
      this.#release();
    }
  }

  #wait({ signal, client = { address: '', account: '' } }: RunOptions): Promise<void> {
    if (this.#waiting.size >= this.#options.maxWaiting) {
      const problem = unavailableProblem('Too many sign-ins at once. Try again later.', 1);
      const replaced = this.#waiting.findExcess(client);
      if (replaced === undefined) throw problem;
      replaced.refuse(problem);
    }
    return new Promise((resolve, reject) => {
      const waiting = {
        client,
        start: () => {
          dequeue();
          resolve();
        },
        refuse: (problem: ProblemError) => {
          dequeue();
          reject(problem);
        },
      };
      const onAbort = () => waiting.refuse(clientDisconnected());
      const timer = setTimeout(
        () => waiting.refuse(unavailableProblem('The service is busy. Try again later.', 2)),
        this.#options.timeoutMs,
      );
      const dequeue = () => {
        clearTimeout(timer);
        signal?.removeEventListener('abort', onAbort);
        this.#waiting.delete(waiting);
      };
      this.#waiting.add(waiting);
      signal?.addEventListener('abort', onAbort, { once: true });
      if (signal?.aborted) onAbort();
    });
  }

  // Pass the slot directly to the next waiting job, so that a new job cannot overtake it.
  #release(): void {
    const next = this.#waiting.next();
    if (next === undefined) this.#running -= 1;
    else next.start();
  }
}

/** Waiting jobs by address and account. The first key of a map is served next. */
class WaitingJobs {
  readonly #addresses = new Map<string, Map<string, Set<WaitingJob>>>();
  size = 0;

  add(job: WaitingJob): void {
    const { address, account } = job.client;
    const accounts = this.#addresses.get(address) ?? new Map<string, Set<WaitingJob>>();
    const jobs = accounts.get(account) ?? new Set();
    this.#addresses.set(address, accounts.set(account, jobs.add(job)));
    this.size += 1;
  }

  delete(job: WaitingJob): void {
    const { address, account } = job.client;
    const accounts = this.#addresses.get(address);
    const jobs = accounts?.get(account);
    if (accounts === undefined || jobs?.delete(job) !== true) return;
    this.size -= 1;
    if (jobs.size === 0) accounts.delete(account);
    if (accounts.size === 0) this.#addresses.delete(address);
  }

  /** Returns the next job and moves its address and account to the end. */
  next(): WaitingJob | undefined {
    const [first] = this.#addresses;
    if (first === undefined) return undefined;
    const [address, accounts] = first;
    const [[account, jobs] = ['', new Set<WaitingJob>()]] = accounts;
    moveToEnd(this.#addresses, address, accounts);
    moveToEnd(accounts, account, jobs);
    const [job] = jobs;
    return job;
  }

  /**
   * Returns the job that a new job of the client replaces: the newest job of the address with the most jobs or, if that
   * is the client's address, of its account with the most jobs. Undefined if the client's own account has the most
   * jobs.
   */
  findExcess({ address, account }: HashClient): WaitingJob | undefined {
    const own = this.#addresses.get(address) ?? new Map<string, Set<WaitingJob>>();
    const countOf = (accounts: Map<string, Set<WaitingJob>>) =>
      [...accounts.values()].reduce((count, jobs) => count + jobs.size, 0);
    const largestAddress = largest([...this.#addresses.values()], countOf);
    if (largestAddress !== undefined && countOf(largestAddress) > countOf(own) + 1)
      return newestOfLargest(largestAddress);
    const largestAccount = largest([...own.values()], ({ size }) => size);
    const isExcess = largestAccount !== undefined && largestAccount.size > (own.get(account)?.size ?? 0) + 1;
    return isExcess ? newestOfLargest(own) : undefined;
  }
}

function newestOfLargest(accounts: Map<string, Set<WaitingJob>>): WaitingJob | undefined {
  return [...(largest([...accounts.values()], ({ size }) => size) ?? [])].at(-1);
}

function largest<Item>(items: readonly Item[], sizeOf: (item: Item) => number): Item | undefined {
  return items.reduce<Item | undefined>(
    (found, item) => (found === undefined || sizeOf(item) > sizeOf(found) ? item : found),
    undefined,
  );
}

function moveToEnd<Key, Value>(map: Map<Key, Value>, key: Key, value: Value): void {
  map.delete(key);
  map.set(key, value);
}
