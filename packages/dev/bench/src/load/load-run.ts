import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import { Connection, problemOf } from './connection.ts';
import type { Load, LoadRequest, LoadResult } from './load.ts';

const maxWindowSeconds = 60;

/** Runs one load: a warm-up, then the window, whose responses are counted. */
export class LoadRun {
  readonly #load: Load;
  readonly #latencies = createHistogram();
  #operations = 0;
  #sent = 0;
  #problem: string | undefined;
  #began = 0;
  #opened = Number.POSITIVE_INFINITY;
  #closed = Number.POSITIVE_INFINITY;

  constructor(load: Load) {
    this.#load = load;
  }

  /** @param onWindow called when the window opens and when it closes */
  async run(onWindow: (event: 'opened' | 'closed') => void): Promise<LoadResult> {
    const { origins, connections, warmUpSeconds, seconds, total } = this.#load;
    const open = Array.from(
      { length: connections },
      (_, index) => new Connection(origins[index % origins.length] ?? ''),
    );
    this.#began = performance.now();
    const work = Promise.all(open.map((connection, index) => this.#work(connection, index)));
    if (warmUpSeconds > 0) await sleep(warmUpSeconds * 1000);
    this.#opened = performance.now();
    onWindow('opened');
    await (total === undefined ? this.#waitForWindow(seconds) : work);
    this.#closed = performance.now();
    onWindow('closed');
    // Requests in flight would disturb the next measurement.
    await work;
    await Promise.all(open.map((connection) => connection.destroy()));
    return this.#result((this.#closed - this.#opened) / 1000);
  }

  // A window without a response has no result, so a slow server on a busy machine gets more time.
  async #waitForWindow(seconds: number): Promise<void> {
    await sleep(seconds * 1000);
    const deadline = this.#opened + maxWindowSeconds * 1000;
    while (this.#operations === 0 && this.#problem === undefined && performance.now() < deadline) {
      await sleep(50);
    }
  }

  #result(seconds: number): LoadResult {
    const milliseconds = (percentile: number) => this.#latencies.percentile(percentile) / 1e6;
    const isEmpty = this.#operations === 0;
    return {
      operations: this.#operations,
      sent: this.#sent,
      seconds,
      p50Ms: isEmpty ? 0 : milliseconds(50),
      p99Ms: isEmpty ? 0 : milliseconds(99),
      problem: this.#problem,
    };
  }

  get #isOver(): boolean {
    return this.#closed !== Number.POSITIVE_INFINITY;
  }

  #isWithin(time: number): boolean {
    return time >= this.#opened && time <= this.#closed;
  }

  #count(milliseconds: number): void {
    this.#operations += 1;
    this.#latencies.record(Math.max(1, Math.round(milliseconds * 1e6)));
  }

  // Requests that were due while their connection was busy have waited at least until now.
  #countUnsent(index: number, turn: number): void {
    const { perSecond, connections } = this.#load;
    if (perSecond === undefined) return;
    for (let slot = index + turn * connections; ; slot += connections) {
      const due = this.#dueAt(slot, perSecond);
      if (due > this.#closed) return;
      if (this.#isWithin(due)) this.#count(performance.now() - due);
    }
  }

  async #work(connection: Connection, index: number): Promise<void> {
    const { requests, firstRequest = 0, perSecond, connections } = this.#load;
    const { total = Number.POSITIVE_INFINITY } = this.#load;
    let token = this.#load.chain?.tokens[index];
    let turn = 0;
    try {
      for (; !this.#isOver && this.#sent < total; turn += 1) {
        const due = perSecond === undefined ? undefined : this.#dueAt(index + turn * connections, perSecond);
        if (due !== undefined) await this.#wait(due);
        if (this.#isOver) break;
        const request = requests[(firstRequest + this.#sent) % requests.length];
        if (request === undefined) throw new Error('there are no requests');
        this.#sent += 1;
        token = await this.#once(connection, request, { token, due });
      }
      this.#countUnsent(index, turn);
    } catch (error) {
      this.#problem ??= String(error);
    }
  }

  #dueAt(slot: number, perSecond: number): number {
    return this.#began + (slot * 1000) / perSecond;
  }

  async #wait(due: number): Promise<void> {
    const milliseconds = due - performance.now();
    if (milliseconds > 0) await sleep(milliseconds);
  }

  async #once(
    connection: Connection,
    request: LoadRequest,
    { token, due }: { token: string | undefined; due: number | undefined },
  ): Promise<string | undefined> {
    const { chain } = this.#load;
    const body =
      chain === undefined || token === undefined ? request.body : `${chain.before}${token}${chain.after}`;
    const sent = performance.now();
    const response = await connection.send(request, body);
    const problem = problemOf(response, request.expect);
    if (problem !== undefined) throw new Error(`${request.method} ${request.path}: ${problem}`);
    const received = performance.now();
    // A request at a fixed time belongs to the window of that time, so that the slowest are not left out.
    if (this.#isWithin(due ?? received)) this.#count(received - (due ?? sent));
    return chain === undefined ? undefined : refreshTokenOf(response.body);
  }
}

function refreshTokenOf(body: Buffer): string {
  const { refresh_token: token } = JSON.parse(body.toString());
  if (typeof token !== 'string') throw new Error('a response has no refresh token');
  return token;
}
