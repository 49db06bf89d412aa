import { type PathName, paths } from '../contenders/tessera.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const one = 'one process';

/** Two replicas over one database, on the paths that read. */
export const replicaRows: RowPlan[] = (['userinfo', 'get-issue', 'list-issues'] as const).map(replicaRow);

function replicaRow(path: PathName): RowPlan {
  return {
    name: `replicas-${path}`,
    title: `Two replicas instead of one: ${path}`,
    goals: [{ kind: 'ratio', of: one, atLeast: 1.4 }],
    open: async (lab, scope) => {
      const tessera = await lab.tessera();
      const second = path === 'userinfo' ? tessera.secondIdentity : tessera.secondIssues;
      await second.start();
      scope.defer(() => second.stop());
      const contender = paths[path];
      return new RowBuilder()
        .add(await contender(lab, tessera, { name: 'two processes', both: true }))
        .add(await contender(lab, tessera, { name: one }))
        .build();
    },
  };
}
