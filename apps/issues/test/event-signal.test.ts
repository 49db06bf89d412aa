import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { EventSignal } from '../src/events/event-signal.ts';

describe('a signal of events', () => {
  let sent: number[];
  let called: number[];
  let receive: () => void;
  let signal: EventSignal;
  beforeEach(() => {
    jest.useFakeTimers({ now: 0 });
    sent = [];
    called = [];
    signal = new EventSignal({
      start: (onNotified) => {
        receive = onNotified;
      },
      notify: () => sent.push(Date.now()),
      stop: async () => undefined,
    });
    signal.subscribe(() => called.push(Date.now()));
    signal.start();
  });
  afterEach(async () => {
    await signal.stop();
    jest.useRealTimers();
  });

  it('notifies other processes at once, and then at most every 50 ms, also of the last change', () => {
    for (let time = 0; time < 120; time += 1) {
      signal.written();
      jest.advanceTimersByTime(1);
    }
    jest.advanceTimersByTime(100);
    expect(sent).toEqual([0, 50, 100, 150]);
    expect(called).toEqual(sent);
  });

  it('tells the listeners of a notification of another process, and does not send it on', () => {
    receive();
    receive();
    jest.advanceTimersByTime(60);
    expect(called).toEqual([0, 50]);
    expect(sent).toEqual([]);
  });

  it('tells the listeners at intervals with jitter', () => {
    jest.advanceTimersByTime(10_000);
    expect(called.length).toBeGreaterThanOrEqual(4);
    expect(called.length).toBeLessThanOrEqual(6);
    expect(sent).toEqual([]);
  });
});
