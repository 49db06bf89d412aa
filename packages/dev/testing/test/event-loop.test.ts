import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const root = fileURLToPath(new URL('../../../..', import.meta.url));

interface Plugin {
  path: string;
  includes: string[];
}

let project: string;
beforeEach(() => {
  project = mkdtempSync(path.join(tmpdir(), 'tessera-lint-'));
  const { plugins }: { plugins: Plugin[] } = JSON.parse(readFileSync(path.join(root, 'biome.json'), 'utf8'));
  const settings = {
    plugins: plugins.map((plugin) => ({ ...plugin, path: path.join(root, plugin.path) })),
    linter: { rules: { preset: 'none' } },
  };
  writeFileSync(path.join(project, 'biome.json'), JSON.stringify(settings));
});
afterEach(() => rmSync(project, { recursive: true }));

/** The number of violations that the lint rule reports for a file with this text. */
function violations(file: string, text: string): number {
  const place = path.join(project, file);
  mkdirSync(path.dirname(place), { recursive: true });
  writeFileSync(place, text);
  const biome = path.join(root, 'node_modules/@biomejs/biome/bin/biome');
  const { stderr, stdout } = spawnSync(process.execPath, [biome, 'lint', place], {
    cwd: project,
    encoding: 'utf8',
  });
  const output = stdout + stderr;
  expect(output).toContain('Checked 1 file');
  return output.split('This blocks the event loop').length - 1;
}

const service = 'apps/issues/src/issues/issue.service.ts';

describe('the event-loop lint rule', () => {
  it.each([
    `import { createSign } from 'node:crypto';\ncreateSign('RSA-SHA256');`,
    `import { sign } from 'node:crypto';\nsign('RSA-SHA256', data, key);`,
    `import crypto from 'node:crypto';\ncrypto.sign('RSA-SHA256', data, key);`,
    `import bcrypt from 'bcrypt';\nbcrypt.hashSync(password, 10);`,
    `import bcrypt from 'bcrypt';\nbcrypt.compareSync(password, hash);`,
    `import { pbkdf2Sync } from 'node:crypto';\npbkdf2Sync(password, salt, 1, 2, 'sha1');`,
    `import { scryptSync } from 'node:crypto';\nscryptSync(password, salt, 64);`,
    `import { readFileSync } from 'node:fs';\nexport const text = readFileSync('file').toString();`,
  ])('rejects in a service: %s', (text) => {
    expect(violations(service, text)).toBe(1);
  });

  it.each([
    ['a signature on the thread pool', service, `sign('RSA-SHA256', data, key, done);`],
    ['HKDF, which is as short as a digest', service, `hkdfSync('sha256', key, salt, info, 32);`],
    ['reading keys at startup', 'apps/identity/src/keys/key-files.ts', `readFileSync('file');`],
  ])('allows %s', (_name, file, text) => {
    expect(violations(file, text)).toBe(0);
  });
});
