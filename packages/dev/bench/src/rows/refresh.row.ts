import { bareRefreshes, bareSigning, startBare } from '../contenders/bare.ts';
import { startLimit } from '../contenders/limit.ts';
import { oidcNames, oidcRefresh, startOidc } from '../contenders/oidc-provider.ts';
import { refreshConnections, refreshContender } from '../contenders/tessera.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const limitName = 'two RS256 signatures on the thread pool';

export const refreshRow: RowPlan = {
  name: 'refresh',
  title: 'Trade a refresh token (`POST /token/refresh`)',
  goals: [
    { kind: 'ratio', of: oidcNames.postgres, atLeast: 1.5 },
    { kind: 'ratio', of: oidcNames.memory, atLeast: 1.15 },
    { kind: 'ratio', of: limitName, atLeast: 0.5 },
    { kind: 'ratio', of: bareSigning },
  ],
  open: async (lab, scope) => {
    const tessera = await lab.tessera();
    const row = new RowBuilder().add(await refreshContender(lab, tessera));
    for (const storage of ['postgres', 'memory'] as const) {
      await row.addPeer(oidcNames[storage], async () => {
        // One round more: the one that warms everybody up.
        const grants = (lab.options.rounds + 1) * refreshConnections;
        return oidcRefresh(lab, storage, await startOidc(lab, scope, storage, grants));
      });
    }
    const limit = startLimit(limitName, new URL('../servers/rs256-limit.process.ts', import.meta.url));
    scope.defer(() => limit.stop());
    return row
      .add(limit)
      .add(bareRefreshes(lab, await startBare(lab, scope), tessera))
      .build();
  },
};
