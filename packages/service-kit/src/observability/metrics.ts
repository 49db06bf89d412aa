import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';

/** A finished request. */
export interface ObservedRequest {
  method: string;
  /** The operation's path, not the URL, so that the number of series is limited. Null if no route matched. */
  route: string | null;
  status: number;
  durationSeconds: number;
}

/** The counts of a `pg` pool. */
export interface ObservedPool {
  readonly totalCount: number;
  readonly idleCount: number;
  readonly waitingCount: number;
}

/** Histogram buckets in seconds, from a single primary-key read to the longest permitted statement. */
const durationBuckets = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

/**
 * The metrics of a process, labelled with the service's name. Gauges are read at each scrape; a request costs one
 * observation.
 */
export class Metrics {
  readonly registry = new Registry();
  readonly #requests: Histogram<'method' | 'route' | 'status'>;
  readonly #connections: Gauge<'pool' | 'state'>;
  readonly #waiting: Gauge<'pool'>;
  readonly #pools = new Map<string, ObservedPool>();

  constructor(service: string) {
    this.registry.setDefaultLabels({ service });
    this.#requests = this.histogram(
      'http_request_duration_seconds',
      'Requests, by route template and status.',
      ['method', 'route', 'status'],
    );
    this.#connections = this.gauge('db_pool_connections', 'Connections of a pool.', ['pool', 'state'], () => {
      for (const [pool, { totalCount, idleCount }] of this.#pools) {
        this.#connections.set({ pool, state: 'idle' }, idleCount);
        this.#connections.set({ pool, state: 'used' }, totalCount - idleCount);
      }
    });
    this.#waiting = this.gauge('db_pool_waiting', 'Callers that wait for a connection.', ['pool'], () => {
      for (const [pool, { waitingCount }] of this.#pools) this.#waiting.set({ pool }, waitingCount);
    });
  }

  /**
   * Adds metrics of memory, CPU, event-loop lag and garbage collection. Call once per process, because this starts
   * observers.
   */
  observeProcess(): void {
    collectDefaultMetrics({ register: this.registry });
  }

  observePool(name: string, pool: ObservedPool): void {
    this.#pools.set(name, pool);
  }

  observeRequest({ method, route, status, durationSeconds }: ObservedRequest): void {
    this.#requests.observe({ method, route: route ?? 'unmatched', status }, durationSeconds);
  }

  counter<Label extends string>(name: string, help: string, labelNames: Label[]): Counter<Label> {
    return new Counter({ name, help, labelNames, registers: [this.registry] });
  }

  /** `collect` is called before each scrape. */
  gauge<Label extends string>(
    name: string,
    help: string,
    labelNames: Label[],
    collect: () => void | Promise<void>,
  ): Gauge<Label> {
    return new Gauge({ name, help, labelNames, registers: [this.registry], collect });
  }

  /** Creates a histogram in seconds. */
  histogram<Label extends string>(name: string, help: string, labelNames: Label[] = []): Histogram<Label> {
    return new Histogram({ name, help, labelNames, buckets: durationBuckets, registers: [this.registry] });
  }
}

/** Counts calls by outcome. The outcome of a failed call is derived from its error. */
export class OutcomeCounter<Outcome extends string> {
  readonly #counter: Counter<'outcome'>;
  readonly #outcomeOf: (error: unknown) => Outcome;
  readonly #success: Outcome;

  constructor(counter: Counter<'outcome'>, success: Outcome, outcomeOf: (error: unknown) => Outcome) {
    this.#counter = counter;
    this.#success = success;
    this.#outcomeOf = outcomeOf;
  }

  async count<Result>(call: Promise<Result>): Promise<Result> {
    try {
      const result = await call;
      this.#counter.inc({ outcome: this.#success });
      return result;
    } catch (error) {
      this.#counter.inc({ outcome: this.#outcomeOf(error) });
      throw error;
    }
  }
}
