import type { DataFolder } from './data-folder/data-folder.ts';
import { rotateLog } from './data-folder/log-file.ts';
import { readOrCreateSecret } from './data-folder/secret-file.ts';
import type { StackEnvironment } from './environment.ts';
import { type RunningPostgres, startPostgres } from './postgres/server.ts';
import { createServiceDatabase } from './postgres/service-database.ts';
import type { Service, ServiceName } from './services/services.ts';

/** Whether any service lacks a database of its own, given by the environment. */
export function needsEmbedded(environment: StackEnvironment, services: readonly Service[]): boolean {
  return services.some(({ name }) => environment.databaseUrls[name] === undefined);
}

/** Starts the server of the data folder and sees to one database and one role for each service that needs it. */
export async function startDatabases(
  folder: DataFolder,
  environment: StackEnvironment,
  services: readonly Service[],
): Promise<RunningPostgres> {
  const log = folder.logFile('postgres');
  rotateLog(log);
  const server = await startPostgres({
    dataDir: folder.postgres,
    port: environment.postgresPort,
    persistent: true,
    log,
  });
  try {
    for (const { name } of services) {
      if (environment.databaseUrls[name] !== undefined) continue;
      const password = readOrCreateSecret(folder.databasePasswordFile(name));
      await createServiceDatabase(server.adminUrl, { database: name, role: name, password });
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** @param port of the embedded server; undefined when it does not run, as every service has its own database */
export function databaseUrlOf(
  name: ServiceName,
  folder: DataFolder,
  environment: StackEnvironment,
  port: number | undefined,
): string {
  const given = environment.databaseUrls[name];
  if (given !== undefined) return given;
  const password = readOrCreateSecret(folder.databasePasswordFile(name));
  return `postgresql://${name}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}?sslmode=disable`;
}
