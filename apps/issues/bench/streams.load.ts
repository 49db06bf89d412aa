// A process that sends requests at fixed times, so that the work of receiving thousands of streams does not delay them.
// Started by streams.bench.ts.
import { Agent, request } from 'node:http';

/** Requests at a fixed rate. */
export interface PacedLoad {
  url: string;
  token: string;
  readPath: string;
  writePath: string;
  readsPerSecond: number;
  writesPerSecond: number;
  seconds: number;
}

export interface LoadResult {
  /** Durations of the reads since the time at which they were due, in milliseconds. */
  reads: number[];
  /** When the response to each write arrived, in milliseconds since the epoch. */
  committedAt: number[];
  failures: number;
}

const agent = new Agent({ keepAlive: true });

function send({ url, token }: PacedLoad, method: string, path: string, body?: string): Promise<boolean> {
  return new Promise((resolve) => {
    const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
    const sent = request(`${url}${path}`, { method, headers, agent }, (response) => {
      response.resume();
      response.on('end', () => resolve((response.statusCode ?? 500) < 300));
    });
    sent.on('error', () => resolve(false));
    sent.end(body);
  });
}

/** Calls `act` at a rate, without waiting for the previous call. */
function atRate(perSecond: number, seconds: number, act: (dueAt: number) => Promise<void>): Promise<void>[] {
  const start = performance.now();
  return Array.from({ length: perSecond * seconds }, async (_, index) => {
    const dueAt = start + (index * 1000) / perSecond;
    await new Promise((resolve) => setTimeout(resolve, dueAt - performance.now()));
    await act(dueAt);
  });
}

async function run(load: PacedLoad): Promise<LoadResult> {
  const result: LoadResult = { reads: [], committedAt: [], failures: 0 };
  await Promise.all([
    ...atRate(load.readsPerSecond, load.seconds, async (dueAt) => {
      const isServed = await send(load, 'GET', load.readPath);
      result.reads.push(performance.now() - dueAt);
      if (!isServed) result.failures += 1;
    }),
    ...atRate(load.writesPerSecond, load.seconds, async () => {
      const isServed = await send(load, 'POST', load.writePath, '{"body":"x"}');
      result.committedAt.push(performance.timeOrigin + performance.now());
      if (!isServed) result.failures += 1;
    }),
  ]);
  return result;
}

process.on('message', async (load: PacedLoad) => {
  process.send?.(await run(load));
});
