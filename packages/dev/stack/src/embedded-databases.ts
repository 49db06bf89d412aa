import type { DataFolder } from './data-folder/data-folder.ts';
import { rotateLog } from './data-folder/log-file.ts';
import { readOrCreateSecret } from './data-folder/secret-file.ts';
import type { StackEnvironment, Variables } from './environment.ts';
import { type RunningPostgres, startPostgres } from './postgres/server.ts';
import { createServiceDatabase, type DatabaseRole, withRole } from './postgres/service-database.ts';
import type { Service, ServiceName } from './services/services.ts';

/** Whether any service needs a database on the embedded server. */
export function needsEmbedded(environment: StackEnvironment, services: readonly Service[]): boolean {
  return services.some(({ name }) => environment.databaseUrls[name] === undefined);
}

/** Starts the server of the data folder and creates the database, role and owner of each service that needs them. */
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
      const owner = ownerOf(name, folder);
      await createServiceDatabase(server.adminUrl, { database: name, ...roleOf(name, folder), owner });
    }
  } catch (error) {
    await server.stop();
    throw error;
  }
  return server;
}

/** @param port the port of the embedded server; undefined when every service uses an external database */
export function databaseUrlOf(
  name: ServiceName,
  folder: DataFolder,
  environment: StackEnvironment,
  port: number | undefined,
): string {
  const given = environment.databaseUrls[name];
  if (given !== undefined) return given;
  return urlOf(name, roleOf(name, folder), port);
}

/** The additional variables of a service's migrator: the owner's URL, which the service itself does not get. */
export function migrationVariablesOf(
  name: ServiceName,
  folder: DataFolder,
  environment: StackEnvironment,
  port: number | undefined,
): Variables {
  if (environment.databaseUrls[name] !== undefined) return {};
  return {
    MIGRATION_DATABASE_URL: urlOf(name, ownerOf(name, folder), port),
    SERVICE_DATABASE_ROLE: name,
  };
}

function roleOf(name: ServiceName, folder: DataFolder): DatabaseRole {
  return { role: name, password: readOrCreateSecret(folder.databasePasswordFile(name)) };
}

function ownerOf(name: ServiceName, folder: DataFolder): DatabaseRole {
  return { role: `${name}_owner`, password: readOrCreateSecret(folder.databaseOwnerPasswordFile(name)) };
}

function urlOf(database: ServiceName, role: DatabaseRole, port: number | undefined): string {
  return withRole(`postgresql://127.0.0.1:${port}/${database}?sslmode=disable`, role);
}
