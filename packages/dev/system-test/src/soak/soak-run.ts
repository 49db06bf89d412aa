import { setTimeout as sleep } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { IdentityClient } from '@tessera/client/identity';
import { type Stack, startStack } from '@tessera/stack';
import { growthProblems } from './growth.ts';
import { type Measurement, measure } from './measurement.ts';
import { Person } from './person.ts';
import { printProgress, printReport, printVerdict } from './report.ts';
import { Tally } from './tally.ts';
import { Targets } from './targets.ts';

const replicas = 2;
const people = 8;
const password = 'a password of the soak';
const lineEverySeconds = 30;
const probe = fileURLToPath(new URL('heap-probe.js', import.meta.url));

/** Puts two replicas of each service under a mixed load. @returns whether everything stayed within the limits */
export async function soak(minutes: number, isInterrupted: () => boolean): Promise<boolean> {
  const quiet = { LOG_LEVEL: 'warn' };
  const stack = await startStack({
    replicas: { identity: replicas, issues: replicas },
    environment: { identity: { ...quiet, TRUST_PROXY: 'loopback' }, issues: quiet },
    nodeArguments: ['--expose-gc', '--import', probe],
  });
  const problems: string[] = [];
  try {
    const tally = new Tally();
    const { baseline, end } = await loaded(stack, tally, minutes * 60, isInterrupted);
    printReport(baseline, end, tally);
    problems.push(...growthProblems(baseline, end, replicas));
    if (tally.unexpected > 0) problems.push(`unexpected responses: ${tally.unexpectedText}`);
  } finally {
    const codes = await stack.stop();
    if (codes.some((code) => code !== 0)) problems.push(`exit codes ${codes.join(', ')}`);
  }
  printVerdict(problems);
  return problems.length === 0;
}

async function loaded(stack: Stack, tally: Tally, seconds: number, isInterrupted: () => boolean) {
  const targets = new Targets(stack, tally);
  const team = Array.from(
    { length: people },
    (_, index) => new Person(targets, { number: index + 1, password }),
  );
  const identity = new IdentityClient({ baseUrl: stack.urls.identity, serviceToken: stack.serviceToken });
  for (const { email } of team) await identity.create({ email, password });
  let over = false;
  const work = Promise.all(team.map((person) => person.work(() => over)));
  try {
    return await watch(stack, tally, seconds, isInterrupted);
  } finally {
    over = true;
    await work;
    targets.close();
  }
}

// Both measurements are taken under load, because an idle service uses less.
async function watch(stack: Stack, tally: Tally, seconds: number, isInterrupted: () => boolean) {
  const baselineAt = Math.min(60, seconds / 3);
  const began = performance.now();
  const elapsed = () => (performance.now() - began) / 1000;
  let baseline: Measurement | undefined;
  let nextLine = lineEverySeconds;
  while (elapsed() < seconds && !isInterrupted()) {
    await sleep(500);
    if (baseline === undefined && elapsed() >= baselineAt) baseline = await measure(stack);
    if (elapsed() >= nextLine) {
      printProgress(nextLine, tally, await measure(stack));
      nextLine += lineEverySeconds;
    }
  }
  const end = await measure(stack);
  return { baseline: baseline ?? end, end };
}
