import { betterAuthNames, betterAuthSignIn, startBetterAuthFor } from '../contenders/better-auth.ts';
import { tokenContender } from '../contenders/tessera.ts';
import { bcryptLimit, bcryptLimitName } from './bcrypt-limit.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

export const tokenRow: RowPlan = {
  name: 'token',
  title: 'Log in (`POST /token`)',
  goals: [
    // With the client and the database on the same cores about 0.94 is possible.
    { kind: 'ratio', of: bcryptLimitName, atLeast: 0.9 },
    { kind: 'ratio', of: betterAuthNames.bcrypt, atLeast: 1.15 },
    { kind: 'ratio', of: betterAuthNames.scrypt },
  ],
  open: async (lab, scope) => {
    const row = new RowBuilder().add(await tokenContender(lab, await lab.tessera())).add(bcryptLimit(scope));
    for (const hash of ['bcrypt', 'scrypt'] as const) {
      await row.addPeer(betterAuthNames[hash], async () =>
        betterAuthSignIn(lab, hash, await startBetterAuthFor(lab, scope, hash)),
      );
    }
    return row.build();
  },
};
