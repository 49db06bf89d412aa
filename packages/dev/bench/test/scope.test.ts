import { describe, expect, it } from '@jest/globals';
import { Scope } from '../src/lab/scope.ts';

describe('Scope', () => {
  it('stops everything in the opposite order, also after a failure', async () => {
    const scope = new Scope();
    const stopped: string[] = [];
    scope.defer(() => stopped.push('first'));
    scope.defer(async () => {
      throw new Error('cannot stop');
    });
    scope.defer(() => stopped.push('last'));
    await expect(scope.close()).rejects.toThrow(AggregateError);
    expect(stopped).toEqual(['last', 'first']);
  });

  it('stops everything once', async () => {
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
