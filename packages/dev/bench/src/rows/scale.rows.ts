import { type PathName, paths } from '../contenders/tessera.ts';
import { defaultRows } from '../options.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const few = `at ${defaultRows.toLocaleString('en')} rows`;

/** Each path with many issues and identities beside the same path with a thousand. */
export function scaleRow(path: PathName, rows: number): RowPlan {
  return {
    name: `scale-${path}`,
    title: `${rows.toLocaleString('en')} issues and identities: ${path}`,
    goals: [{ kind: 'ratio', of: few, atLeast: 0.85 }],
    open: async (lab) => {
      const contender = paths[path];
      return new RowBuilder()
        .add(await contender(lab, await lab.largeTessera(), { name: `at ${rows.toLocaleString('en')} rows` }))
        .add(await contender(lab, await lab.tessera(), { name: few }))
        .build();
    },
  };
}
