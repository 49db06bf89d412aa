import { describe, expect, it } from '@jest/globals';
import { isCurrentNode } from '../src/node-version.ts';

describe('isCurrentNode', () => {
  const [major = '', minor = ''] = process.versions.node.split('.');

  it.each([major, `${major}.${minor}`, process.versions.node])('accepts %s', (version) => {
    expect(isCurrentNode(version)).toBe(true);
  });

  it.each([major.slice(0, 1), `${major}0`, `${Number(major) + 1}`, `${process.versions.node}0`])(
    'does not accept %s',
    (version) => {
      expect(isCurrentNode(version)).toBe(false);
    },
  );
});
