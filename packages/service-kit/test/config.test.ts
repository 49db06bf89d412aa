import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { ConfigError, flag, integer, list, readConfig } from '../src/index.ts';

const schema = z.object({
  PORT: integer({ min: 1, max: 65_535, default: 3000 }),
  ISSUER: z.url({ error: 'must be a URL' }),
  SERVICE_TOKEN: z.string({ error: 'is required' }).min(8, { error: 'must be at least 8 characters' }),
  VERBOSE: flag(false),
  ORIGINS: list(),
});
const complete = { ISSUER: 'https://id.example', SERVICE_TOKEN: 'a-long-secret' };

let folder: string;

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'config-test-'));
});

afterAll(() => rmSync(folder, { recursive: true }));

function problemsOf(environment: Record<string, string | undefined>): string[] {
  try {
    readConfig(schema, environment, ['SERVICE_TOKEN']);
  } catch (error) {
    if (error instanceof ConfigError) return error.problems;
    throw error;
  }
  return [];
}

describe('readConfig', () => {
  it('returns typed values and defaults', () => {
    expect(
      readConfig(schema, { ...complete, VERBOSE: 'on', ORIGINS: ' https://a.example, ,https://b.example' }),
    ).toEqual({
      ...complete,
      PORT: 3000,
      VERBOSE: true,
      ORIGINS: ['https://a.example', 'https://b.example'],
    });
  });

  it('treats an empty variable as not set', () => {
    expect(readConfig(schema, { ...complete, PORT: '' }).PORT).toBe(3000);
    expect(problemsOf({ ...complete, SERVICE_TOKEN: '' })).toEqual(['SERVICE_TOKEN: is required']);
  });

  it('reports all problems by name, without values', () => {
    const environment = {
      PORT: '70000',
      ISSUER: 'not-a-url-1234',
      SERVICE_TOKEN: 's3cret',
      VERBOSE: 'perhaps',
    };
    expect(problemsOf(environment)).toEqual([
      'PORT: must be an integer from 1 to 65535',
      'ISSUER: must be a URL',
      'SERVICE_TOKEN: must be at least 8 characters',
      'VERBOSE: must be on or off',
    ]);
    expect(() => readConfig(schema, environment)).toThrow(/^The configuration is invalid:\n {2}PORT: /);
    for (const value of Object.values(environment)) {
      expect(() => readConfig(schema, environment)).not.toThrow(value);
    }
  });

  it.each([['1.5'], ['0x10'], ['1e3'], [' 7'], ['9'.repeat(16)], ['-1'], ['65536']])(
    'refuses %s for a bounded integer',
    (value) => {
      expect(problemsOf({ ...complete, PORT: value })).toEqual(['PORT: must be an integer from 1 to 65535']);
    },
  );

  it('reads a secret from the file that NAME_FILE names, without a trailing line break', () => {
    const path = join(folder, 'token');
    writeFileSync(path, 'from-a-file-1\n');
    const { SERVICE_TOKEN: _, ...rest } = complete;
    const config = readConfig(schema, { ...rest, SERVICE_TOKEN_FILE: path }, ['SERVICE_TOKEN']);
    expect(config.SERVICE_TOKEN).toBe('from-a-file-1');
  });

  it('reads files only for the named secrets', () => {
    const path = join(folder, 'issuer');
    writeFileSync(path, 'https://id.example');
    expect(problemsOf({ SERVICE_TOKEN: 'a-long-secret', ISSUER_FILE: path })).toEqual([
      'ISSUER: must be a URL',
    ]);
  });

  it('refuses a secret that is set twice', () => {
    const path = join(folder, 'second');
    writeFileSync(path, 'another-secret');
    expect(problemsOf({ ...complete, SERVICE_TOKEN_FILE: path })).toEqual([
      'SERVICE_TOKEN: is set twice, also as SERVICE_TOKEN_FILE',
    ]);
  });

  it('reports an unreadable file once', () => {
    const { SERVICE_TOKEN: _, ...rest } = complete;
    expect(problemsOf({ ...rest, SERVICE_TOKEN_FILE: join(folder, 'missing') })).toEqual([
      'SERVICE_TOKEN_FILE: the file cannot be read',
    ]);
  });

  it('refuses an empty file', () => {
    const path = join(folder, 'empty');
    writeFileSync(path, '\n');
    const { SERVICE_TOKEN: _, ...rest } = complete;
    expect(problemsOf({ ...rest, SERVICE_TOKEN_FILE: path })).toEqual(['SERVICE_TOKEN: is required']);
  });

  it('reports the problems of a rule over several variables, even if other variables are invalid', () => {
    const twoNames = z.object({
      FIRST: z.string().optional(),
      SECOND: z.string().optional(),
      PORT: schema.shape.PORT,
    });
    const read = (environment: Record<string, string>) => () =>
      readConfig(twoNames, environment, ['FIRST'], ({ FIRST, SECOND }) =>
        FIRST === SECOND ? [] : ['SECOND: must be what FIRST is', 'PORT: is asked for by the rule too'],
      );
    expect(read({ FIRST: 'a', SECOND: 'a' })()).toMatchObject({ PORT: 3000 });
    expect(read({ FIRST: 'a', PORT: 'x' })).toThrow(
      expect.objectContaining({
        problems: ['PORT: must be an integer from 1 to 65535', 'SECOND: must be what FIRST is'],
      }),
    );
  });
});
