import { createSecretKey, randomBytes } from 'node:crypto';
import { describe, expect, it } from '@jest/globals';
import { TokenSealer } from '../src/web-session/token-sealer.ts';

const aKey = () => createSecretKey(randomBytes(32));
const [first, second] = [aKey(), aKey()];
const session = randomBytes(32);

describe('TokenSealer', () => {
  it('seals with the first key and opens with each', () => {
    const old = new TokenSealer([first]).seal('a token', 'access', session);
    const rotating = new TokenSealer([second, first]);
    expect(rotating.open(old, 'access', session)).toBe('a token');
    const current = rotating.seal('a token', 'access', session);
    expect(new TokenSealer([second]).open(current, 'access', session)).toBe('a token');
    expect(new TokenSealer([first]).open(current, 'access', session)).toBeUndefined();
  });

  it('seals the same token differently each time', () => {
    const sealer = new TokenSealer([first]);
    const sealed = [1, 2, 3].map(() => sealer.seal('a token', 'access', session).toString('hex'));
    expect(new Set(sealed).size).toBe(3);
  });

  it('opens a token only for its session and its use', () => {
    const sealer = new TokenSealer([first]);
    const sealed = sealer.seal('a token', 'access', session);
    expect(sealer.open(sealed, 'refresh', session)).toBeUndefined();
    expect(sealer.open(sealed, 'access', randomBytes(32))).toBeUndefined();
  });

  it('opens nothing that was changed or cut short', () => {
    const sealer = new TokenSealer([first]);
    const sealed = sealer.seal('a token', 'access', session);
    for (let position = 0; position < sealed.length; position += 1) {
      const changed = Buffer.from(sealed);
      changed.writeUInt8(changed.readUInt8(position) ^ 1, position);
      expect(sealer.open(changed, 'access', session)).toBeUndefined();
      expect(sealer.open(sealed.subarray(0, position), 'access', session)).toBeUndefined();
    }
  });
});
