import { describe, expect, it } from '@jest/globals';
import { Scope } from '../src/lab/scope.ts';

describe('what was started', () => {
  it('is ended in the opposite order, all of it, also when something does not end well', async () => {
    const scope = new Scope();
    const ended: string[] = [];
    scope.defer(() => ended.push('first'));
    scope.defer(async () => {
      throw new Error('does not end');
    });
    scope.defer(() => ended.push('last'));
    await expect(scope.close()).rejects.toThrow(AggregateError);
    expect(ended).toEqual(['last', 'first']);
  });

  it('is ended once', async () => {
    const scope = new Scope();
    let times = 0;
    scope.defer(() => {
      times += 1;
    });
    await scope.close();
    await scope.close();
    expect(times).toBe(1);
  });
});
