import { mkdirSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openDataFolder } from '../src/data-folder/data-folder.ts';
import { makeFolder, removeFolder } from './support/temporary-folder.ts';

let parent: string;
beforeEach(() => {
  parent = makeFolder();
});
afterEach(() => removeFolder(parent));

describe('openDataFolder', () => {
  it('makes a missing folder that nobody else can list, and opens it again', () => {
    const root = path.join(parent, 'a/b');
    openDataFolder(root);
    expect(statSync(root).mode & 0o066).toBe(0);
    writeFileSync(path.join(root, 'service-token'), 'kept');
    expect(openDataFolder(root).serviceTokenFile).toBe(path.join(root, 'service-token'));
    expect(readdirSync(root).sort()).toEqual(['logs', 'service-token', 'tessera-data.json']);
  });

  it('takes an empty folder', () => {
    openDataFolder(parent);
    expect(readdirSync(parent)).toContain('tessera-data.json');
  });

  it('refuses a folder with foreign content and changes nothing in it', () => {
    writeFileSync(path.join(parent, 'photo.jpg'), '');
    expect(() => openDataFolder(parent)).toThrow('was not made by Tessera');
    expect(readdirSync(parent)).toEqual(['photo.jpg']);
  });

  it.each(['', '{"format":2}', 'not json'])('refuses a folder whose marker says %j', (text) => {
    writeFileSync(path.join(parent, 'tessera-data.json'), text);
    expect(() => openDataFolder(parent)).toThrow('is damaged or of another release');
    expect(readdirSync(parent)).toEqual(['tessera-data.json']);
  });

  it('says so when the folder is a file', () => {
    const file = path.join(parent, 'file');
    writeFileSync(file, '');
    expect(() => openDataFolder(file)).toThrow('it is not a folder');
  });

  it('opens a folder in which another command is just writing the marker', () => {
    writeFileSync(path.join(parent, 'tessera-data.json.0123456789ab.tmp'), '{');
    mkdirSync(path.join(parent, 'logs'));
    expect(() => openDataFolder(parent)).toThrow('was not made by Tessera');
    removeFolder(path.join(parent, 'logs'));
    expect(openDataFolder(parent).root).toBe(parent);
  });
});
