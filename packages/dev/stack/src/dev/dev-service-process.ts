import { type ChildProcess, spawn } from 'node:child_process';
import { createRequire } from 'node:module';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { CommandContext } from '../command.ts';
import { type DataFolder, openDataFolder } from '../data-folder/data-folder.ts';
import { readRunRecord } from '../data-folder/run-record.ts';
import { prepareSecrets } from '../data-folder/secrets.ts';
import { databaseUrlOf, migrationVariablesOf, needsEmbedded } from '../embedded-databases.ts';
import type { Variables } from '../environment.ts';
import { waitForExit } from '../processes/child-exit.ts';
import { isRunning, recordProcess, stopProcess } from '../processes/recorded-process.ts';
import { startWatchdog } from '../processes/watchdog.ts';
import { serviceEnvironment } from '../services/service-environment.ts';
import type { Service } from '../services/services.ts';
import { StackError } from '../stack-error.ts';
import { resolveDataDir } from '../stack-session.ts';

const DATABASE_TIMEOUT_MS = 60_000;
const FROM_SOURCE = '--conditions=@tessera/source';
const STOP_STEPS = [
  { signal: 'SIGTERM', waitMs: 8_000 },
  { signal: 'SIGKILL', waitMs: 2_000 },
] as const;

interface DevServiceContext extends CommandContext {
  readonly rootDir: string;
}

/** Runs one service from source and restarts it when its source or a package that it uses changes. */
export async function runDevService(service: Service, context: DevServiceContext): Promise<void> {
  const { environment, rootDir, print, stop } = context;
  const folder = openDataFolder(resolveDataDir(rootDir, environment));
  const embedded = needsEmbedded(environment, [service]);
  const port = embedded ? await waitForDatabase(folder, stop.signal) : undefined;
  if (stop.signal.aborted) return;
  const variables = serviceEnvironment({
    service,
    environment,
    secrets: prepareSecrets(folder, environment.passedOn),
    databaseUrl: databaseUrlOf(service.name, folder, environment, port),
    mode: 'development',
  });
  const cwd = path.join(rootDir, 'apps', service.name);
  const run = (args: string[], more: Variables = {}) =>
    spawn(process.execPath, args, {
      cwd,
      detached: true,
      env: { ...variables, ...more },
      stdio: 'inherit',
    });

  const { resolve } = createRequire(import.meta.url);
  const loader = pathToFileURL(resolve('tsx')).href;
  const migration = migrationVariablesOf(service.name, folder, environment, port);
  const migrated = await waitForExit(run(['--import', loader, FROM_SOURCE, 'src/migrate.ts'], migration));
  if (stop.signal.aborted) return;
  if (migrated !== 'exit code 0')
    throw new StackError(`The migrations of ${service.name} were not applied (${migrated}).`);
  print(`${service.name} on http://localhost:${variables.PORT}, watching for changes`);
  await watch(
    run([resolve('tsx/cli'), 'watch', '--clear-screen=false', FROM_SOURCE, 'src/server.ts']),
    context,
  );
}

/** @returns the port of the development database; undefined after a stop request */
async function waitForDatabase(folder: DataFolder, signal: AbortSignal): Promise<number | undefined> {
  const deadline = Date.now() + DATABASE_TIMEOUT_MS;
  while (!signal.aborted) {
    const record = readRunRecord(folder.runFile);
    if (record !== undefined && isRunning(record.launcher)) {
      if (record.mode === 'start') {
        throw new StackError(
          `"start" is running on ${folder.root} (pid ${record.launcher.pid}). Stop it first.`,
        );
      }
      if (record.postgresPort !== undefined) return record.postgresPort;
    }
    if (Date.now() > deadline) {
      throw new StackError(
        'There is no development database. Run "npx pnpm@12 dev" in the root, which starts it too.',
      );
    }
    await sleep(100);
  }
  return undefined;
}

async function watch(child: ChildProcess, { stop }: DevServiceContext): Promise<void> {
  const ended = waitForExit(child);
  const recorded = child.pid === undefined ? undefined : recordProcess(child.pid);
  if (recorded === undefined) throw new StackError(`tsx could not be started: ${await ended}.`);
  const watchdog = startWatchdog();
  watchdog.stopOnDeath(recorded.pid, 'TERM');
  try {
    const reason = await Promise.race([stop.requested.then(() => undefined), ended]);
    if (reason !== undefined) throw new StackError(`tsx ended unexpectedly (${reason}).`);
  } finally {
    await stopProcess(recorded, STOP_STEPS);
    watchdog.release();
  }
}
