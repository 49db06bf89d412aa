import { EventEmitter, once } from 'node:events';
import { describe, expect, it } from '@jest/globals';
import { createLogger } from '@tessera/service-kit';
import { EventSignal, EventWorker } from '../src/events/event-signal.ts';

/** Starts a worker whose runs end when the test emits `end` with their result or error. */
function startWorker() {
  const signal = new EventSignal();
  const control = new EventEmitter();
  let runs = 0;
  const run = async () => {
    runs += 1;
    setImmediate(() => control.emit('run'));
    const [hasMore] = await once(control, 'end');
    if (hasMore instanceof Error) throw hasMore;
    return hasMore === true;
  };
  const worker = new EventWorker({
    name: 'test',
    signal,
    run,
    logger: createLogger({ service: 'issues', level: 'silent' }),
  });
  worker.start();
  /** Ends the current run and resolves when the next one has started. */
  const endAndRunAgain = async (result: unknown) => {
    const next = once(control, 'run');
    control.emit('end', result);
    await next;
  };
  return { signal, worker, control, endAndRunAgain, started: once(control, 'run'), count: () => runs };
}

describe('a worker', () => {
  it('runs at its start, and once more for all signals during a run', async () => {
    const { signal, worker, control, endAndRunAgain, started, count } = startWorker();
    await started;
    signal.written();
    signal.written();
    await endAndRunAgain(false);
    control.emit('end', false);
    await worker.stop();
    expect(count()).toBe(2);
  });

  it('runs again as long as there may be more events, until it stops', async () => {
    const { worker, control, endAndRunAgain, started, count } = startWorker();
    await started;
    await endAndRunAgain(true);
    await endAndRunAgain(true);
    const stopped = worker.stop();
    control.emit('end', true);
    await stopped;
    expect(count()).toBe(3);
  });

  it('runs again after a failure, at an interval without a write', async () => {
    const { signal, worker, control, endAndRunAgain, started, count } = startWorker();
    signal.start();
    await started;
    await endAndRunAgain(new Error('no database'));
    control.emit('end', false);
    await worker.stop();
    await signal.stop();
    expect(count()).toBe(2);
  });
});
