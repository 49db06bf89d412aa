import type { ChildProcess } from 'node:child_process';

/** Waits for the end of a child process. @returns `exit code 1`, `signal SIGKILL`, or the reason that it did not start */
export function waitForExit(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    // An aborted child emits 'error' before 'exit'.
    child.once('error', (error) => child.pid === undefined && resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}
