import { commandLineOf, parentOf, type RecordedProcess, recordProcess } from './recorded-process.ts';

const PACKAGE_MANAGER = /(^|[\s/])(npm|npx|pnpm|pnpx|yarn|corepack)([\s@.]|$)/;
const MAX_DEPTH = 12;

/**
 * The processes that started this one: its parent, and its ancestors up to the outermost package manager.
 * `npx pnpm@12 start` makes npm, a shell, pnpm and a shell; the processes above them belong to the user.
 */
export function findStartingProcesses(): RecordedProcess[] {
  const ancestors: number[] = [];
  let depthOfManager = 1;
  for (let pid: number | undefined = process.ppid; pid !== undefined && pid > 1; pid = parentOf(pid)) {
    ancestors.push(pid);
    if (PACKAGE_MANAGER.test(commandLineOf(pid))) depthOfManager = ancestors.length;
    if (ancestors.length === MAX_DEPTH) break;
  }
  return ancestors
    .slice(0, depthOfManager)
    .map(recordProcess)
    .filter((found) => found !== undefined);
}
