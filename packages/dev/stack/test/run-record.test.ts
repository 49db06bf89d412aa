import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RunLock, type RunRecord, readRunRecord } from '../src/data-folder/run-record.ts';
import { recordProcess } from '../src/processes/recorded-process.ts';
import { makeFolder, removeFolder } from './support/temporary-folder.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = makeFolder();
  file = path.join(folder, 'run.json');
});
afterEach(() => removeFolder(folder));

describe('RunLock.acquire', () => {
  const nothing = async () => undefined;

  it('gives a free folder to only one of two concurrent launchers', async () => {
    const takes = await Promise.allSettled([
      RunLock.acquire(file, 'start', nothing),
      RunLock.acquire(file, 'dev', nothing),
    ]);
    expect(takes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(readRunRecord(file)?.mode).toBe('start');
  });

  it('recovers and locks the folder of a dead launcher whose pid was reused', async () => {
    const dead: RunRecord = {
      mode: 'dev',
      launcher: { pid: process.pid, startedAt: 'before' },
      services: [],
    };
    writeFileSync(file, JSON.stringify(dead));
    const recovered: unknown[] = [];
    const lock = await RunLock.acquire(file, 'start', async (found) => {
      recovered.push(found);
    });
    expect(recovered).toEqual([dead]);
    expect(readRunRecord(file)?.launcher).toEqual(recordProcess(process.pid));
    lock.release();
    expect(readRunRecord(file)).toBeUndefined();
  });

  it('keeps the lock of another launcher that acquired it during the recovery', async () => {
    writeFileSync(file, 'not a record');
    const other = JSON.stringify({ mode: 'start', launcher: recordProcess(process.ppid), services: [] });
    const late = RunLock.acquire(file, 'start', async () => writeFileSync(file, other));
    await expect(late).rejects.toThrow(`pid ${process.ppid}`);
    expect(readFileSync(file, 'utf8')).toBe(other);
  });
});
