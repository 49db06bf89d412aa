import type { CommandContext } from '../command.ts';
import { readTail } from '../data-folder/log-tail.ts';
import { prepareSecrets } from '../data-folder/secrets.ts';
import { findServices } from '../services/services.ts';
import { Session } from '../session.ts';
import { StackError } from '../stack-error.ts';

/** Runs the embedded PostgreSQL, with the data and the secrets of `start`, for services that are being worked on. */
export async function runDevDatabase(
  rootDir: string,
  { environment, say, stop }: CommandContext,
): Promise<void> {
  const session = await Session.open({ mode: 'dev', rootDir, environment, say });
  try {
    prepareSecrets(session.folder, environment.passedOn);
    const server = await session.startDatabases(environment, findServices(rootDir));
    if (server === undefined) {
      say('every service has a database of its own');
      await stop.asked;
      return;
    }
    say(`PostgreSQL 18 on 127.0.0.1:${server.port}, data in ${session.folder.root}`);
    const failure = server.exited.then(() => {
      throw new StackError(`PostgreSQL ended unexpectedly:\n${readTail(server.logFile, 15)}`);
    });
    await Promise.race([stop.asked, failure]);
  } finally {
    await session.close();
  }
}
