import { readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { RunClaim, type RunRecord, readRunRecord } from '../src/data-folder/run-record.ts';
import { recordProcess } from '../src/processes/recorded-process.ts';
import { makeFolder, removeFolder } from './support/temporary-folder.ts';

let folder: string;
let file: string;
beforeEach(() => {
  folder = makeFolder();
  file = path.join(folder, 'run.json');
});
afterEach(() => removeFolder(folder));

describe('RunClaim.take', () => {
  const nothing = async () => undefined;

  it('lets one of two that take a free folder at once have it', async () => {
    const takes = await Promise.allSettled([
      RunClaim.take(file, 'start', nothing),
      RunClaim.take(file, 'dev', nothing),
    ]);
    expect(takes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
    expect(readRunRecord(file)?.mode).toBe('start');
  });

  it('takes the folder of a dead launcher whose process id is in use again, after recovering it', async () => {
    const dead: RunRecord = {
      mode: 'dev',
      launcher: { pid: process.pid, startedAt: 'before' },
      services: [],
    };
    writeFileSync(file, JSON.stringify(dead));
    const recovered: unknown[] = [];
    const claim = await RunClaim.take(file, 'start', async (found) => {
      recovered.push(found);
    });
    expect(recovered).toEqual([dead]);
    expect(readRunRecord(file)?.launcher).toEqual(recordProcess(process.pid));
    claim.release();
    expect(readRunRecord(file)).toBeUndefined();
  });

  it('lets stand what another launcher claimed while we recovered', async () => {
    writeFileSync(file, 'not a record');
    const other = JSON.stringify({ mode: 'start', launcher: recordProcess(process.ppid), services: [] });
    const late = RunClaim.take(file, 'start', async () => writeFileSync(file, other));
    await expect(late).rejects.toThrow(`pid ${process.ppid}`);
    expect(readFileSync(file, 'utf8')).toBe(other);
  });
});
