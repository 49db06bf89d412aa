import { describe, expect, it } from '@jest/globals';
import { parseOptions } from '@tessera/stack/command-line';
import { commandOptions, readOptions } from '../src/options.ts';
import { rowNamesFor, rowsFor } from '../src/rows/rows.ts';

function namesFor(args: string[], against?: string): string[] {
  const options = readOptions(parseOptions(commandOptions, args), rowNamesFor);
  return rowsFor({ ...options, against }).map(({ name }) => name);
}

describe('the rows of a run', () => {
  it('are all rows but those of many issues by default, the one that creates issues last', () => {
    const names = namesFor([]);
    expect(names).toContain('login-storm');
    expect(names).toContain('cold-get-issue');
    expect(names.at(-1)).toBe('create-issue');
    expect(names.filter((name) => name.startsWith('scale'))).toEqual([]);
    expect(namesFor(['--rows', '2000']).at(-1)).toBe('scale-create-issue');
  });

  it('are those that compare with the other checkout with --against', () => {
    expect(namesFor([], '/before')).toEqual([
      ...['token', 'refresh', 'userinfo', 'jwks', 'get-issue', 'list-issues'],
      ...['cold-get-issue', 'cold-list-issues', 'create-issue'],
    ]);
  });

  it('are those of --only, also with --against', () => {
    expect(namesFor(['--only', 'cold,discovery'])).toEqual([
      'discovery',
      'cold-get-issue',
      'cold-list-issues',
    ]);
    expect(namesFor(['--only', 'discovery'], '/before')).toEqual(['discovery']);
  });
});
