import { locateCluster } from '../postgres/cluster.ts';
import { stopLeftoverServer } from '../postgres/leftover-server.ts';
import { isRunning, stopProcess } from '../processes/recorded-process.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { StackError } from '../stack-error.ts';
import type { DataFolder } from './data-folder.ts';
import type { RunRecord } from './run-record.ts';

const LIFELINE_PATIENCE_MS = 30_000;
const LEFTOVER_STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 10_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Stops what a launcher that was killed left running. Only processes that are proven to be that launcher's are
 * touched: services by their start time, the server by the folder that it works in.
 * @param dead its record; undefined when that could not be read
 * @returns the names of what was stopped
 */
export async function stopLeftovers(folder: DataFolder, dead: RunRecord | undefined): Promise<string[]> {
  const stopped: string[] = [];
  const { lifeline } = dead ?? {};
  if (lifeline !== undefined) await waitUntil(() => !isRunning(lifeline), LIFELINE_PATIENCE_MS, 100);
  for (const service of dead?.services ?? []) {
    if (!isRunning(service.process)) continue;
    if (!(await stopProcess(service.process, LEFTOVER_STOP_STEPS))) {
      throw new StackError(
        `${service.name} (pid ${service.process.pid}), left by a killed run, does not stop.`,
      );
    }
    stopped.push(service.name);
  }
  if (await stopLeftoverServer(locateCluster(folder.postgres))) stopped.push('PostgreSQL');
  return stopped;
}
