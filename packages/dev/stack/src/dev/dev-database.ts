import type { CommandContext } from '../command.ts';
import { readTail } from '../data-folder/log-tail.ts';
import { prepareSecrets } from '../data-folder/secrets.ts';
import { findServices } from '../services/services.ts';
import { StackError } from '../stack-error.ts';
import { StackSession } from '../stack-session.ts';

/** Runs the embedded PostgreSQL for development, with the data and secrets of `start`. */
export async function runDevDatabase(
  rootDir: string,
  { environment, print, stop }: CommandContext,
): Promise<void> {
  const session = await StackSession.open({ mode: 'dev', rootDir, environment, print });
  try {
    prepareSecrets(session.folder, environment.passedOn);
    const server = await session.startDatabases(environment, findServices(rootDir));
    if (server === undefined) {
      print('every service uses an external database');
      await stop.requested;
      return;
    }
    print(`PostgreSQL 18 on 127.0.0.1:${server.port}, data in ${session.folder.root}`);
    const failure = server.exited.then(() => {
      throw new StackError(`PostgreSQL ended unexpectedly:\n${readTail(server.logFile, 15)}`);
    });
    await Promise.race([stop.requested, failure]);
  } finally {
    await session.close();
  }
}
