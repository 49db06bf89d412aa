import { describe, expect, it } from '@jest/globals';
import { startBetterAuth } from '../src/contenders/better-auth.ts';
import { startOidcProvider } from '../src/contenders/oidc-provider.ts';

const databaseUrl = 'postgresql://user:password@127.0.0.1:1/none';

describe('a peer that cannot start', () => {
  it('exits with the reason when there is no database', async () => {
    await expect(startBetterAuth({ hash: 'scrypt', databaseUrl, users: 1 })).rejects.toThrow(
      /exited with 1 before it was ready: .*ECONNREFUSED/s,
    );
    await expect(startOidcProvider({ databaseUrl, grants: 1, accessTokens: 'opaque' })).rejects.toThrow(
      /exited with 1 before it was ready: .*ECONNREFUSED/s,
    );
  });

  it('exits when an option is invalid', async () => {
    await expect(startOidcProvider({ grants: 0, accessTokens: 'opaque' })).rejects.toThrow(
      /before it was ready/,
    );
  });
});
