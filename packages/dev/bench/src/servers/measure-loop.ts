import { createHistogram } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Sample } from '../run/sample.ts';

interface LoopOptions {
  /** How many operations are under way at a time. */
  concurrency: number;
  warmUpSeconds: number;
  seconds: number;
}

/** Does the operation over and over, and says how often and at what cost for this process. */
export async function measureLoop(operation: () => Promise<unknown>, options: LoopOptions): Promise<Sample> {
  const latencies = createHistogram();
  let isOpen = false;
  let isOver = false;
  let operations = 0;
  const work = Promise.all(
    Array.from({ length: options.concurrency }, async () => {
      while (!isOver) {
        const began = performance.now();
        await operation();
        if (!isOpen) continue;
        operations += 1;
        latencies.record(Math.max(1, Math.round((performance.now() - began) * 1e6)));
      }
    }),
  );
  await sleep(options.warmUpSeconds * 1000);
  const cpu = process.cpuUsage();
  const opened = performance.now();
  isOpen = true;
  await sleep(options.seconds * 1000);
  isOpen = false;
  const seconds = (performance.now() - opened) / 1000;
  const { user, system } = process.cpuUsage(cpu);
  isOver = true;
  await work;
  const [p50Ms, p99Ms] = [latencies.percentile(50) / 1e6, latencies.percentile(99) / 1e6];
  return { operations, seconds, p50Ms, p99Ms, serverCpuMicros: user + system };
}

/** Answers each `{ seconds }` that the bench sends with a sample. */
export function serveSamples(measure: (seconds: number) => Promise<Sample>): void {
  process.on('message', ({ seconds }: { seconds: number }) => {
    measure(seconds).then(
      (sample) => process.send?.(sample),
      (error: unknown) => {
        console.error(error);
        process.exit(1);
      },
    );
  });
  process.on('SIGINT', () => undefined);
  process.on('disconnect', () => process.exit());
}
