import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from '@jest/globals';
import { parseMachineTime, watchOtherLoad } from '../src/load/other-load.ts';

describe('what others do on the machine', () => {
  it('is read from the line of all cores, where waiting for a disk is not work', () => {
    const stat = 'cpu  100 10 20 500 40 1 2 7 50 5\ncpu0 50 5 10 250 20 0 1 3 25 2\n';
    expect(parseMachineTime(stat)).toEqual({ busyMicros: 1_400_000, totalMicros: 6_800_000 });
  });

  it('is what we have not done ourselves', async () => {
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
