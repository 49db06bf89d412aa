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
  it('creates a missing folder that only its owner can list, and opens it again', () => {
    const root = path.join(parent, 'a/b');
    openDataFolder(root);
    expect(statSync(root).mode & 0o066).toBe(0);
    writeFileSync(path.join(root, 'service-token'), 'kept');
    expect(openDataFolder(root).serviceTokenFile).toBe(path.join(root, 'service-token'));
    expect(readdirSync(root).sort()).toEqual(['logs', 'service-token', 'tessera-data.json']);
  });

  it('uses an empty folder', () => {
    openDataFolder(parent);
    expect(readdirSync(parent)).toContain('tessera-data.json');
  });

  it('rejects a folder with other content and changes nothing in it', () => {
    writeFileSync(path.join(parent, 'photo.jpg'), '');
    expect(() => openDataFolder(parent)).toThrow('was not made by Tessera');
    expect(readdirSync(parent)).toEqual(['photo.jpg']);
  });

  it.each(['rejects a folder whose marker contains %j', '{"format":2}', 'not json'])(
    'rejects a folder whose marker contains %j',
    (text) => {
      writeFileSync(path.join(parent, 'tessera-data.json'), text);
      expect(() => openDataFolder(parent)).toThrow('is damaged or was written by another release');
      expect(readdirSync(parent)).toEqual(['tessera-data.json']);
    },
  );

  it('rejects a file', () => {
    const file = path.join(parent, 'file');
    writeFileSync(file, '');
    expect(() => openDataFolder(file)).toThrow('it is not a folder');
  });

  it('opens a folder while another command writes the marker', () => {
    writeFileSync(path.join(parent, 'tessera-data.json.0123456789ab.tmp'), '{');
    mkdirSync(path.join(parent, 'logs'));
    expect(() => openDataFolder(parent)).toThrow('was not made by Tessera');
    removeFolder(path.join(parent, 'logs'));
    expect(openDataFolder(parent).root).toBe(parent);
  });
});
