import { describe, expect, it } from '@jest/globals';
import { startBetterAuth, startOidcProvider } from '../src/peers/start-peer.ts';

const nobodyListens = 'postgresql://nobody:nothing@127.0.0.1:1/nowhere';

describe('a peer that cannot start', () => {
  it('ends and says why, where there is no database', async () => {
    await expect(startBetterAuth({ hash: 'scrypt', databaseUrl: nobodyListens, users: 1 })).rejects.toThrow(
      /ended with 1 before it was ready: .*ECONNREFUSED/s,
    );
    await expect(
      startOidcProvider({ storage: 'postgres', databaseUrl: nobodyListens, grants: 1 }),
    ).rejects.toThrow(/ended with 1 before it was ready: .*ECONNREFUSED/s);
  });

  it('refuses options that it does not know', async () => {
    await expect(startOidcProvider({ storage: 'memory', grants: 0 })).rejects.toThrow(/before it was ready/);
  });
});
