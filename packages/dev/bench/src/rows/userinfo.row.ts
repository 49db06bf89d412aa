import { bare, bareReads, startBare } from '../contenders/bare.ts';
import { betterAuthNames, betterAuthSession, startBetterAuthFor } from '../contenders/better-auth.ts';
import { oidcNames, oidcUserInfo, startOidc } from '../contenders/oidc-provider.ts';
import { userInfoContender } from '../contenders/tessera.ts';
import { userInfoRequests } from '../contenders/tessera-requests.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

export const userInfoRow: RowPlan = {
  name: 'userinfo',
  title: 'Who am I (`GET /userinfo`)',
  goals: [
    { kind: 'ratio', of: oidcNames.postgres, atLeast: 2.3 },
    { kind: 'ratio', of: bare, atLeast: 0.85 },
    { kind: 'ratio', of: betterAuthNames.session, atLeast: 14 },
    { kind: 'ratio', of: oidcNames.memory },
  ],
  open: async (lab, scope) => {
    const tessera = await lab.tessera();
    const row = new RowBuilder().add(await userInfoContender(lab, tessera));
    for (const storage of ['postgres', 'memory'] as const) {
      await row.addPeer(oidcNames[storage], async () =>
        oidcUserInfo(lab, storage, await startOidc(lab, scope, storage)),
      );
    }
    row.add(
      await bareReads(lab, await startBare(lab, scope), {
        service: tessera.identity.url,
        requests: userInfoRequests(tessera),
        path: (_request, index) => `/userinfo/${tessera.people[index]?.id}`,
      }),
    );
    await row.addPeer(betterAuthNames.session, async () =>
      betterAuthSession(lab, await startBetterAuthFor(lab, scope, 'bcrypt')),
    );
    return row.build();
  },
};
