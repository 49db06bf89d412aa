import type { Lab } from '../lab/lab.ts';
import { Scope } from '../lab/scope.ts';
import type { RowPlan } from '../rows/row-plan.ts';
import type { Progress } from './progress.ts';
import { rotated } from './statistics.ts';
import type { Measured, MeasuredRow } from './summary.ts';

// Until V8 has compiled what a server does most: a process that has just been started is several times slower.
const jitSeconds = 3;

/**
 * Measures every contender of a row in every round, one right after the other. What it starts ends with it.
 * @param interrupted rejects when the bench shall end; what is under way then ends with its processes
 */
export async function measureRow(
  plan: RowPlan,
  lab: Lab,
  { progress, interrupted }: { progress: Progress; interrupted: Promise<never> },
): Promise<MeasuredRow> {
  const { rounds, seconds } = lab.options;
  const scope = new Scope();
  try {
    progress.note(`${plan.name}: starting`);
    const { contenders, absent } = await plan.start(lab, scope);
    progress.skip((expectedContenders(plan) - contenders.length) * rounds);
    const measured: Measured[] = contenders.map(({ name }) => ({ name, samples: [] }));
    for (const contender of contenders) {
      progress.note(`${plan.name} · warming up · ${contender.name}`);
      const warmUp = contender.warmUp ?? contender.measure;
      await Promise.race([warmUp(Math.min(seconds, jitSeconds)), interrupted]);
    }
    for (let round = 0; round < rounds; round += 1) {
      for (const contender of rotated(contenders, round)) {
        progress.step(`${plan.name} · round ${round + 1} of ${rounds} · ${contender.name}`);
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

/** Whom a row will have, before it is opened: itself, and everybody its goals speak of. */
export function expectedContenders({ goals }: RowPlan): number {
  const others = goals.map((goal) => (goal.kind === 'ratio' ? goal.of : goal.contender));
  const isAboutItself = goals.every((goal) => goal.kind === 'bound' && goal.contender !== undefined);
  return new Set(others.filter((name) => name !== undefined)).size + (isAboutItself ? 0 : 1);
}
