import { setTimeout as pause } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { describe, expect, it } from '@jest/globals';
import { abortAfter } from '../src/background/abort-after.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');

/** Collects garbage while signals without other references wait, and returns the reasons of their aborts. */
async function abortsOf(create: () => AbortSignal): Promise<unknown[]> {
  const reasons: unknown[] = [];
  for (let count = 0; count < 20; count += 1) {
    const signal = create();
    signal.addEventListener('abort', () => reasons.push(signal.reason.name));
  }
  for (let wait = 0; wait < 10; wait += 1) {
    await pause(20);
    collectGarbage();
  }
  return reasons;
}

describe('abortAfter', () => {
  it('aborts after its time, also if garbage is collected before', async () => {
    const parent = new AbortController();
    const all = Array.from({ length: 20 }, () => 'TimeoutError');
    expect(await abortsOf(() => abortAfter(100))).toEqual(all);
    expect(await abortsOf(() => abortAfter(100, parent.signal))).toEqual(all);
    expect(await abortsOf(() => abortAfter(10_000, abortAfter(100, parent.signal)))).toEqual(all);
  });

  it('aborts with its parent', () => {
    const parent = new AbortController();
    const signal = abortAfter(10_000, parent.signal);
    expect(signal.aborted).toBe(false);
    parent.abort(new Error('stopped'));
    expect(signal.reason).toEqual(new Error('stopped'));
    expect(abortAfter(10_000, parent.signal).reason).toEqual(new Error('stopped'));
  });
});
