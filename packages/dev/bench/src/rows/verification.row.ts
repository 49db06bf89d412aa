import { startLimit } from '../contenders/limit.ts';
import { RowBuilder, type RowPlan } from './row-plan.ts';

const seen = 'a token seen before';
const fresh = 'a new token';
const cpu = 'cpu µs';

export const verificationRow: RowPlan = {
  name: 'verification',
  title: 'Verify an access token, as issues does (one thread)',
  goals: [
    { kind: 'bound', contender: seen, measure: cpu, atMost: 60 },
    { kind: 'bound', contender: fresh, measure: cpu, atMost: 150 },
  ],
  open: async (_lab, scope) => {
    const row = new RowBuilder();
    const entry = new URL('../servers/verification.process.ts', import.meta.url);
    for (const [name, kind] of [
      [seen, 'seen'],
      [fresh, 'new'],
    ] as const) {
      const verification = startLimit(name, entry, [kind]);
      scope.defer(() => verification.stop());
      row.add(verification);
    }
    return row.build();
  },
};
