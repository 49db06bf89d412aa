import type { Lab } from '../lab/lab.ts';
import { Scope } from '../lab/scope.ts';
import type { RowPlan } from '../rows/row-plan.ts';
import type { Measured, MeasuredRow } from './summary.ts';

// The time that V8 needs to compile the busiest functions of a server. Before that, the server is several times slower.
const jitSeconds = 3;

/**
 * Measures every contender of a row in every round, one after the other.
 * @param interrupted rejects when the bench must stop
 */
export async function measureRow(plan: RowPlan, lab: Lab, interrupted: Promise<never>): Promise<MeasuredRow> {
  const { rounds, seconds } = lab.options;
  const scope = new Scope();
  try {
    lab.note(`${plan.name}: starting`);
    const { contenders, absent } = await plan.start(lab, scope);
    const measured: Measured[] = contenders.map(({ name }) => ({ name, samples: [] }));
    for (const contender of contenders) {
      lab.note(`${plan.name} · warming up · ${contender.name}`);
      const warmUp = contender.warmUp ?? contender.measure;
      await Promise.race([warmUp(Math.min(seconds, jitSeconds)), interrupted]);
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const contender of rotated(contenders, round)) {
        lab.note(`${plan.name} · round ${round + 1} of ${rounds} · ${contender.name}`);
        const sample = await Promise.race([contender.measure(seconds), interrupted]);
        measured.find(({ name }) => name === contender.name)?.samples.push(sample);
        lab.emptyLogs();
      }
    }
    return { ...plan, measured, absent };
  } finally {
    await scope.close();
  }
}

/** The order of a round: each contender comes first in turn. */
export function rotated<Item>(items: readonly Item[], round: number): Item[] {
  const shift = items.length === 0 ? 0 : round % items.length;
  return [...items.slice(shift), ...items.slice(0, shift)];
}
