import { describe, expect, it } from '@jest/globals';
import { cpuMicrosOf, parsePsTime, parseStat } from '../src/load/cpu-time.ts';

describe('processor time', () => {
  it('is read from /proc, whatever the name of the process', () => {
    const line = '42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 20 10 20 0 11 0 999';
    expect(parseStat(line)).toEqual({ pid: 42, parent: 7, micros: 2_300_000 });
  });

  it.each([
    ['00:00:01', 1],
    ['1-02:03:04', 93_784],
    ['0:01.25', 1.25],
    ['12:34', 754],
  ])('is read from ps: %s', (time, seconds) => {
    expect(parsePsTime(time)).toBe(seconds * 1_000_000);
  });

  it('grows with what a process does', () => {
    const before = cpuMicrosOf([process.pid]);
    const own = process.cpuUsage();
    while (process.cpuUsage(own).user + process.cpuUsage(own).system < 200_000) Math.sqrt(Math.random());
    expect(cpuMicrosOf([process.pid]) - before).toBeGreaterThan(150_000);
  });
});
