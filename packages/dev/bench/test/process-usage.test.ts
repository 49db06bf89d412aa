import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import {
  cpuMicrosOf,
  parseMachineTime,
  parsePsTime,
  parseStat,
  watchOtherLoad,
} from '../src/load/process-usage.ts';

describe('processor time', () => {
  it('is parsed from /proc for a process name with parentheses', () => {
    const line = '42 (a) b (c) S 7 42 42 0 -1 4194304 1 2 3 4 150 50 20 10 20 0 11 0 999';
    expect(parseStat(line)).toEqual({ pid: 42, parent: 7, micros: 2_300_000 });
  });

  it.each([
    ['00:00:01', 1],
    ['1-02:03:04', 93_784],
    ['0:01.25', 1.25],
    ['12:34', 754],
  ])('is parsed from ps: %s', (time, seconds) => {
    expect(parsePsTime(time)).toBe(seconds * 1_000_000);
  });

  it('grows with the work of a process', () => {
    const before = cpuMicrosOf([process.pid]);
    const own = process.cpuUsage();
    while (process.cpuUsage(own).user + process.cpuUsage(own).system < 200_000) Math.sqrt(Math.random());
    expect(cpuMicrosOf([process.pid]) - before).toBeGreaterThan(150_000);
  });
});

describe('the load of other processes', () => {
  it('counts the busy time of all cores, without waiting for disks', () => {
    const stat = 'cpu  100 10 20 500 40 1 2 7 50 5\ncpu0 50 5 10 250 20 0 1 3 25 2\n';
    expect(parseMachineTime(stat)).toEqual({ busyMicros: 1_400_000, totalMicros: 6_800_000 });
  });

  it('excludes the processes of the bench', async () => {
    const child = spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' });
    try {
      const withoutChild = watchOtherLoad([1_000_000_000]);
      const withChild = watchOtherLoad([child.pid ?? 0]);
      await sleep(600);
      const [all, others] = [withoutChild(), withChild()];
      if (!existsSync('/proc/stat')) expect([all, others]).toEqual([undefined, undefined]);
      else expect(others).toBeLessThan(all ?? 0);
    } finally {
      child.kill('SIGKILL');
    }
  });
});
