import type { CommandContext } from '../command.ts';
import { rotateLog } from '../data-folder/log-file.ts';
import { readTail } from '../data-folder/log-tail.ts';
import { prepareSecrets } from '../data-folder/secrets.ts';
import { databaseUrlOf, migrationVariablesOf } from '../embedded-databases.ts';
import type { Variables } from '../environment.ts';
import type { RunningPostgres } from '../postgres/server.ts';
import { stopProcess } from '../processes/recorded-process.ts';
import { buildServices } from '../services/build.ts';
import { serviceEnvironment } from '../services/service-environment.ts';
import { assertPortFree } from '../services/service-port.ts';
import {
  describeEnd,
  runMigrations,
  type ServiceProcess,
  startService,
  waitUntilReady,
} from '../services/service-process.ts';
import { findServices, type Service } from '../services/services.ts';
import { Session } from '../session.ts';
import { StackError } from '../stack-error.ts';
import { bannerOf } from './banner.ts';

interface LauncherOptions extends CommandContext {
  readonly rootDir: string;
}

/**
 * Builds and runs the whole product until it is asked to stop.
 * @throws StackError when something does not come up or ends by itself; the rest is stopped before
 */
export async function runProduct(options: LauncherOptions): Promise<void> {
  const { rootDir, environment, say, stop } = options;
  const services = findServices(rootDir);
  if (services.length === 0) throw new StackError(`There is no service in ${rootDir}/apps.`);
  say('Tessera is starting.');
  const session = await Session.open({ mode: 'start', rootDir, environment, say });
  void stop.asked.then((reason) => say(`\nStopping (${reason}).`));
  try {
    for (const { name, portVariable } of services) {
      await assertPortFree(environment.ports[name], portVariable, name);
    }
    await bringUp(options, session, services);
  } catch (error) {
    // What was under way when the wish to stop came has failed for that reason alone.
    if (!stop.signal.aborted) throw error;
  } finally {
    await session.close();
  }
  say('Stopped.');
}

async function bringUp(
  options: LauncherOptions,
  session: Session,
  services: readonly Service[],
): Promise<void> {
  const { rootDir, environment, say, stop } = options;
  const secrets = prepareSecrets(session.folder, environment.passedOn);
  say('  building the services (about a minute the first time)');
  await buildServices({
    rootDir,
    services,
    variables: environment.passedOn,
    signal: stop.signal,
    onPackage: (name) => say(`    ${name}`),
  });
  const server = await startServer(options, session, services);
  const running: ServiceProcess[] = [];
  for (const service of services) {
    const databaseUrl = databaseUrlOf(service.name, session.folder, environment, server?.port);
    const settings = { service, environment, secrets, databaseUrl, mode: 'production' as const };
    const migration = migrationVariablesOf(service.name, session.folder, environment, server?.port);
    running.push(
      await bringUpService(options, session, { service, variables: serviceEnvironment(settings), migration }),
    );
  }
  say(bannerOf({ services, environment, folder: session.folder, server }));
  await Promise.race([stop.asked, failureOf(running, server)]);
}

interface ServiceVariables {
  readonly service: Service;
  readonly variables: Record<string, string>;
  /** For the migrator alone. */
  readonly migration: Variables;
}

async function bringUpService(
  { rootDir, say, stop }: LauncherOptions,
  session: Session,
  { service, variables, migration }: ServiceVariables,
): Promise<ServiceProcess> {
  const { name } = service;
  const program = { service, rootDir, variables, logFile: session.folder.logFile(name) };
  rotateLog(program.logFile);
  say(`  ${name}: applying its migrations`);
  await runMigrations({ ...program, variables: { ...variables, ...migration } }, stop.signal);
  say(`  ${name}: starting`);
  const running = startService(program);
  session.adopt({ name, url: `http://localhost:${variables.PORT}`, process: running.process }, running.stop);
  stop.onImpatience(() => void stopProcess(running.process, [{ signal: 'SIGKILL', waitMs: 0 }]));
  await waitUntilReady(running, probeUrl(variables), stop.signal);
  return running;
}

async function startServer(
  { environment, say, stop }: LauncherOptions,
  session: Session,
  services: readonly Service[],
) {
  say('  starting PostgreSQL 18');
  const server = await session.startDatabases(environment, services);
  stop.signal.throwIfAborted();
  if (server !== undefined) {
    stop.onImpatience(() => void stopProcess(server.process, [{ signal: 'SIGQUIT', waitMs: 0 }]));
  }
  return server;
}

/** Rejects when anything ends that should run. */
async function failureOf(
  running: readonly ServiceProcess[],
  server: RunningPostgres | undefined,
): Promise<never> {
  const ends = running.map((service) => service.exited.then((reason) => describeEnd(service, reason)));
  if (server !== undefined) {
    ends.push(
      server.exited.then(
        () => new StackError(`PostgreSQL ended unexpectedly:\n${readTail(server.logFile, 15)}`),
      ),
    );
  }
  throw await Promise.race(ends);
}

// A service that listens on a certain address answers there; one that listens on all of them answers here.
function probeUrl(variables: Record<string, string>): string {
  const host = variables.HOST ?? '';
  const everywhere = ['0.0.0.0', '::', ''].includes(host);
  const address = everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${address}:${variables.PORT}`;
}
