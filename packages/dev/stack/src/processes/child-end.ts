import type { ChildProcess } from 'node:child_process';

/** Waits for the end of a child process. @returns how it ended: `exit code 1`, `signal SIGKILL`, or why it never began */
export function endOf(child: ChildProcess): Promise<string> {
  return new Promise((resolve) => {
    // An abort is reported as an error first; the exit that follows tells the same story.
    child.once('error', (error) => child.pid === undefined && resolve(error.message));
    child.once('exit', (code, signal) => resolve(signal === null ? `exit code ${code}` : `signal ${signal}`));
  });
}
