import { locateCluster } from '../postgres/cluster.ts';
import { stopLeftoverServer } from '../postgres/leftover-server.ts';
import { isRunning, stopProcess } from '../processes/recorded-process.ts';
import { waitUntil } from '../processes/wait-until.ts';
import { StackError } from '../stack-error.ts';
import type { DataFolder } from './data-folder.ts';
import type { RunRecord } from './run-record.ts';

const WATCHDOG_TIMEOUT_MS = 30_000;
const LEFTOVER_STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 10_000 },
  { signal: 'SIGKILL', waitMs: 5_000 },
] as const;

/**
 * Stops the processes of a killed launcher. Only processes that certainly belong to it are stopped: services are
 * identified by their start time, the server by its data folder.
 * @param dead the launcher's record; undefined when it is unreadable
 * @returns the names of the stopped processes
 */
export async function stopLeftovers(folder: DataFolder, dead: RunRecord | undefined): Promise<string[]> {
  const stopped: string[] = [];
  const { watchdog } = dead ?? {};
  if (watchdog !== undefined) await waitUntil(() => !isRunning(watchdog), WATCHDOG_TIMEOUT_MS, 100);
  for (const service of dead?.services ?? []) {
    if (!isRunning(service.process)) continue;
    if (!(await stopProcess(service.process, LEFTOVER_STOP_STEPS))) {
      throw new StackError(
        `${service.name} (pid ${service.process.pid}), left behind by a killed run, does not stop.`,
      );
    }
    stopped.push(service.name);
  }
  if (await stopLeftoverServer(locateCluster(folder.postgres))) stopped.push('PostgreSQL');
  return stopped;
}
