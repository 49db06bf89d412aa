import { describe, expect, it } from '@jest/globals';
import { HashQueue } from '../src/passwords/hash-queue.ts';

/** Returns a job that ends when the test ends it. */
function heldJob() {
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => {
    finish = resolve;
  });
  return { job: () => ended, finish };
}

const settle = () => new Promise((resolve) => setImmediate(resolve));

describe('HashQueue', () => {
  it('runs the allowed number of jobs in parallel and the others in order', async () => {
    const queue = new HashQueue({ concurrency: 2, maxWaiting: 10, timeoutMs: 1000 });
    const order: number[] = [];
    const held = [heldJob(), heldJob(), heldJob(), heldJob()];
    const runs = held.map(({ job }, index) =>
      queue.run(() => {
        order.push(index);
        return job();
      }),
    );
    await settle();
    expect(order).toEqual([0, 1]);
    held[1]?.finish();
    await settle();
    expect(order).toEqual([0, 1, 2]);
    for (const { finish } of held) finish();
    await Promise.all(runs);
    expect(order).toEqual([0, 1, 2, 3]);
    expect(await queue.run(async (waited) => waited)).toBe(false);
  });

  it('passes to each job whether it waited', async () => {
    const queue = new HashQueue({ concurrency: 1, maxWaiting: 1, timeoutMs: 1000 });
    const first = heldJob();
    const running = queue.run(first.job);
    const second = queue.run(async (waited) => waited);
    first.finish();
    await running;
    expect(await second).toBe(true);
  });

  it('rejects immediately with 503 and Retry-After when it is full, and continues afterwards', async () => {
    const queue = new HashQueue({ concurrency: 1, maxWaiting: 1, timeoutMs: 1000 });
    const first = heldJob();
    const running = queue.run(first.job);
    const waiting = queue.run(async () => 'done');
    await expect(queue.run(async () => 'never')).rejects.toMatchObject({
      status: 503,
      headers: { 'Retry-After': '1' },
    });
    first.finish();
    await running;
    expect(await waiting).toBe('done');
  });

  it('rejects with 503 when the wait is too long', async () => {
    const queue = new HashQueue({ concurrency: 1, maxWaiting: 5, timeoutMs: 20 });
    const first = heldJob();
    const running = queue.run(first.job);
    await expect(queue.run(async () => 'never')).rejects.toMatchObject({ status: 503 });
    expect(queue.depth).toBe(0);
    first.finish();
    await running;
  });

  it('drops a job whose client has disconnected', async () => {
    const queue = new HashQueue({ concurrency: 1, maxWaiting: 5, timeoutMs: 1000 });
    const first = heldJob();
    const running = queue.run(first.job);
    const client = new AbortController();
    const abandoned = queue.run(async () => 'never', { signal: client.signal });
    client.abort();
    await expect(abandoned).rejects.toMatchObject({ code: 'client_gone' });
    await expect(queue.run(async () => 'never', { signal: client.signal })).rejects.toMatchObject({
      code: 'client_gone',
    });
    expect(queue.depth).toBe(0);
    first.finish();
    await running;
  });

  it('frees the slot of a failed job', async () => {
    const queue = new HashQueue({ concurrency: 1, maxWaiting: 1, timeoutMs: 1000 });
    await expect(queue.run(async () => Promise.reject(new Error('broken')))).rejects.toThrow('broken');
    expect(await queue.run(async () => 'next')).toBe('next');
  });

  describe('with several clients', () => {
    /** Fills the queue while one job runs; returns the order in which the others ran, or their status codes. */
    async function runAll(clients: [address: string, account: string][], maxWaiting = 10): Promise<string[]> {
      const queue = new HashQueue({ concurrency: 1, maxWaiting, timeoutMs: 1000 });
      const first = heldJob();
      const running = queue.run(first.job);
      const order: string[] = [];
      const runs = clients.map(([address, account]) =>
        queue
          .run(async () => void order.push(address + account), { client: { address, account } })
          .catch(({ status }) => order.push(`${address}${account} ${status}`)),
      );
      await settle();
      first.finish();
      await Promise.all([running, ...runs]);
      return order;
    }
    const a1: [string, string] = ['a', '1'];
    const a2: [string, string] = ['a', '2'];
    const b3: [string, string] = ['b', '3'];

    it('serves addresses round robin, and the accounts of an address round robin', async () => {
      expect(await runAll([a1, a1, a1, a2, b3, b3])).toEqual(['a1', 'b3', 'a2', 'b3', 'a1', 'a1']);
    });

    it('replaces a job of the address with the most jobs when it is full', async () => {
      expect(await runAll([a1, a1, a2, b3], 3)).toEqual(['a1 503', 'a1', 'b3', 'a2']);
    });

    it('replaces a job of the account with the most jobs when it is full', async () => {
      expect(await runAll([a1, a1, a1, a2], 3)).toEqual(['a1 503', 'a1', 'a2', 'a1']);
    });

    it('refuses a further job of the client with the most jobs when it is full', async () => {
      expect(await runAll([a1, a1, b3, a1], 3)).toEqual(['a1 503', 'a1', 'b3', 'a1']);
      expect(await runAll([a1, a2, b3, b3], 3)).toEqual(['b3 503', 'a1', 'b3', 'a2']);
    });
  });
});
