import {
  chmodSync,
  lstatSync,
  mkdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { copyForAccount } from '../src/postgres/binaries-copy.ts';
import { makePrivateFolder, removeFolder } from './support/temporary-folder.ts';

describe('copyForAccount', () => {
  let source: string;
  let name: string;
  const copies = new Set<string>();
  const copy = () => {
    const [first = ''] = copyForAccount(source, name);
    copies.add(first);
    return first;
  };

  beforeAll(() => {
    source = makePrivateFolder();
    name = path.basename(source).replace('test', 'copy');
    for (const folder of ['bin', 'lib']) mkdirSync(path.join(source, folder), { mode: 0o700 });
    writeFileSync(path.join(source, 'bin/postgres'), 'program', { mode: 0o700 });
    writeFileSync(path.join(source, 'lib/libpq.so.5.18'), 'library', { mode: 0o600 });
    symlinkSync('libpq.so.5.18', path.join(source, 'lib/libpq.so.5'));
  });
  afterAll(() => {
    for (const folder of [source, ...copies]) removeFolder(folder);
  });

  it('creates a copy that everyone can run and only its owner can change', () => {
    const folder = copy();
    const mode = (file: string) => lstatSync(path.join(folder, file)).mode & 0o777;
    expect(['', 'bin', 'bin/postgres', 'lib/libpq.so.5.18'].map(mode)).toEqual([0o755, 0o755, 0o755, 0o644]);
    expect(readlinkSync(path.join(folder, 'lib/libpq.so.5'))).toBe('libpq.so.5.18');
  });

  it('copies only once', () => {
    const before = lstatSync(copy()).ino;
    expect(lstatSync(copy()).ino).toBe(before);
  });

  it('copies again when a file of the copy is missing', () => {
    rmSync(path.join(copy(), 'lib/libpq.so.5.18'));
    expect(readFileSync(path.join(copy(), 'lib/libpq.so.5.18'), 'utf8')).toBe('library');
  });

  it('does not use a copy that another user could have changed', () => {
    const folder = copy();
    chmodSync(folder, 0o777);
    writeFileSync(path.join(folder, 'bin/postgres'), 'pr0gram');
    expect(readFileSync(path.join(copy(), 'bin/postgres'), 'utf8')).toBe('program');
    expect(lstatSync(folder).mode & 0o777).toBe(0o755);
  });
});
