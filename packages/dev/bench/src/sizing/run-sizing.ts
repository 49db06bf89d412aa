import { Lab } from '../lab/lab.ts';
import { watchOtherLoad } from '../load/process-usage.ts';
import { defaultRows } from '../options.ts';
import { machineFacts } from '../report/bench-report.ts';
import { Progress } from '../run/progress.ts';
import { measureCosts, measureMessage } from './measure-costs.ts';
import type { SizingResults } from './measurements.ts';
import { mixUsersOf, proveBytes, proveCpu } from './proofs.ts';

export interface SizingOptions {
  seconds: number;
  'mix-seconds': number;
  issues: number;
  sessions: number;
}

/** The number of issues and identities of the databases whose requests are measured. */
const rows = 10 * defaultRows;

/** Measures the costs of the requests, then the proofs: the growth on new databases, so that no page has free space. */
export async function runSizing(options: SizingOptions): Promise<SizingResults> {
  const { seconds, 'mix-seconds': mixSeconds, issues, sessions } = options;
  const progress = new Progress(0);
  const lab = new Lab(
    {
      ...{
        only: undefined,
        rounds: 1,
        rows,
        seconds,
        json: undefined,
        footprintRequests: 0,
        node: undefined,
      },
      ...{ against: undefined, build: false, redmine: false, peers: false },
    },
    (text) => progress.note(text),
  );
  try {
    const machine = { ...machineFacts(undefined), postgres: await lab.postgresVersion() };
    const otherLoad = watchOtherLoad([process.pid, (await lab.postmaster()) ?? process.pid]);
    const tessera = await lab.tessera({ rows });
    const costs = await measureCosts(lab, tessera, seconds);
    const measurements = { costs, messageMicros: await measureMessage(lab, tessera, seconds) };
    const users = mixUsersOf(measurements);
    const proofs = [
      ...(await proveCpu(lab, tessera, { measurements, users, seconds: mixSeconds })),
      ...(await proveBytes(lab, await lab.tessera(), { measurements, issues, sessions })),
    ];
    machine.otherLoadPercent = otherLoad();
    return { date: new Date().toISOString(), machine, ...measurements, mixUsers: users, mixSeconds, proofs };
  } finally {
    progress.note('stopping');
    await lab.close();
    progress.end();
  }
}
