import { commandLineOf, parentOf, type RecordedProcess, recordProcess } from './recorded-process.ts';

const PACKAGE_MANAGER = /(^|[\s/])(npm|npx|pnpm|pnpx|yarn|corepack)([\s@.]|$)/;
const MAX_DEPTH = 12;

/**
 * The processes between the user and us: our parent, and all above it up to the outermost package manager.
 * `npx pnpm@12 start` is npm, a shell, pnpm, a shell and then we; what is above is the user's own.
 */
export function findStarters(): RecordedProcess[] {
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
