import { IdentityClient } from '@tessera/client/identity';
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
  runMigrations,
  type ServiceProcess,
  startService,
  unexpectedEnd,
  waitUntilReady,
} from '../services/service-process.ts';
import { findServices, type Service } from '../services/services.ts';
import { StackError } from '../stack-error.ts';
import { StackSession } from '../stack-session.ts';
import { bannerOf, hasWebApp } from './banner.ts';
import { ensureFirstAdministrator, serviceTokenOf } from './first-administrator.ts';

interface LauncherOptions extends CommandContext {
  readonly rootDir: string;
  /** Whether to print the tour. */
  readonly withTour: boolean;
}

/**
 * Builds and runs both services until it is asked to stop.
 * @throws StackError when a process does not start or ends unexpectedly; the others are stopped first
 */
export async function runProduct(options: LauncherOptions): Promise<void> {
  const { rootDir, environment, print, stop } = options;
  const services = findServices(rootDir);
  if (services.length === 0) throw new StackError(`${rootDir}/apps contains no service.`);
  print('Tessera is starting.');
  const session = await StackSession.open({ mode: 'start', rootDir, environment, print });
  void stop.requested.then((reason) => print(`\nStopping (${reason}).`));
  try {
    for (const { name, portVariable } of services) {
      await assertPortFree(environment.ports[name], portVariable, name);
    }
    await bringUp(options, session, services);
  } catch (error) {
    // A stop request makes the current step fail; that is no error.
    if (!stop.signal.aborted) throw error;
  } finally {
    await session.close();
  }
  print('Stopped.');
}

async function bringUp(
  options: LauncherOptions,
  session: StackSession,
  services: readonly Service[],
): Promise<void> {
  const { rootDir, environment, print, stop, withTour } = options;
  const secrets = prepareSecrets(session.folder, environment.passedOn);
  print('  building the services (about a minute the first time)');
  await buildServices({
    rootDir,
    services,
    variables: environment.passedOn,
    signal: stop.signal,
    onPackage: (name) => print(`    ${name}`),
  });
  const server = await startServer(options, session, services);
  const running: ServiceProcess[] = [];
  let identityUrl = '';
  for (const service of services) {
    const databaseUrl = databaseUrlOf(service.name, session.folder, environment, server?.port);
    const settings = { service, environment, secrets, databaseUrl, mode: 'production' as const };
    const migration = migrationVariablesOf(service.name, session.folder, environment, server?.port);
    const variables = serviceEnvironment(settings);
    running.push(await bringUpService(options, session, { service, variables, migration }));
    if (service.name === 'identity') identityUrl = probeUrl(variables);
  }
  const { folder } = session;
  const account = hasWebApp(services, environment)
    ? await ensureFirstAdministrator(
        new IdentityClient({ baseUrl: identityUrl, serviceToken: serviceTokenOf(environment, folder) }),
      )
    : undefined;
  print(bannerOf({ services, environment, folder, server, account, withTour }));
  await Promise.race([stop.requested, failureOf(running, server)]);
}

interface ServiceVariables {
  readonly service: Service;
  readonly variables: Record<string, string>;
  /** Variables of the migrator only. */
  readonly migration: Variables;
}

async function bringUpService(
  { rootDir, print, stop }: LauncherOptions,
  session: StackSession,
  { service, variables, migration }: ServiceVariables,
): Promise<ServiceProcess> {
  const { name } = service;
  const program = { service, rootDir, variables, logFile: session.folder.logFile(name) };
  rotateLog(program.logFile);
  print(`  ${name}: applying its migrations`);
  await runMigrations({ ...program, variables: { ...variables, ...migration } }, stop.signal);
  print(`  ${name}: starting`);
  const running = startService(program);
  session.adopt({ name, url: `http://localhost:${variables.PORT}`, process: running.process }, running.stop);
  stop.onSecondRequest(() => void stopProcess(running.process, [{ signal: 'SIGKILL', waitMs: 0 }]));
  await waitUntilReady(running, probeUrl(variables), stop.signal);
  return running;
}

async function startServer(
  { environment, print, stop }: LauncherOptions,
  session: StackSession,
  services: readonly Service[],
) {
  print('  starting PostgreSQL 18');
  const server = await session.startDatabases(environment, services);
  stop.signal.throwIfAborted();
  if (server !== undefined) {
    stop.onSecondRequest(() => void stopProcess(server.process, [{ signal: 'SIGQUIT', waitMs: 0 }]));
  }
  return server;
}

/** Rejects when a service or the server ends. */
async function failureOf(
  running: readonly ServiceProcess[],
  server: RunningPostgres | undefined,
): Promise<never> {
  const ends = running.map((service) => service.exited.then((reason) => unexpectedEnd(service, reason)));
  if (server !== undefined) {
    ends.push(
      server.exited.then(
        () => new StackError(`PostgreSQL ended unexpectedly:\n${readTail(server.logFile, 15)}`),
      ),
    );
  }
  throw await Promise.race(ends);
}

// A service that listens on one address is probed there; otherwise on the loopback address.
function probeUrl(variables: Record<string, string>): string {
  const host = variables.HOST ?? '';
  const everywhere = ['0.0.0.0', '::', ''].includes(host);
  const address = everywhere ? '127.0.0.1' : host.includes(':') ? `[${host}]` : host;
  return `http://${address}:${variables.PORT}`;
}
