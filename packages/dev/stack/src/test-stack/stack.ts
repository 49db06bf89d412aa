import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import pg from 'pg';
import { type Pooler, testDatabaseTemplates, testPooler } from '../environment.ts';
import {
  cloneDatabase,
  createServiceDatabase,
  findFreePort,
  PgBouncer,
  startTestPostgres,
  type TestPostgres,
  withDatabase,
  withRole,
} from '../postgres.ts';
import { Balancer } from './balancer.ts';
import { httpClient } from './http-client.ts';
import { migrate, Service, type ServiceName } from './service.ts';
import { SigningKeys } from './signing-keys.ts';

export interface StackOptions {
  /** The number of processes of each service. Default: 1. */
  replicas?: Partial<Record<ServiceName, number>>;
  /** The number of replicas of each service to start. Default: all. */
  started?: number;
  /** Whether clients reach the replicas of a service through one address. */
  behindOneAddress?: boolean;
  /** Additional variables of each service. */
  environment?: Partial<Record<ServiceName, Record<string, string>>>;
  /** Arguments for Node, for every process. */
  nodeArguments?: readonly string[];
  /** The folder where each process writes its log, `<service>-<number>.log`. Default: in memory. */
  logDirectory?: string;
  /** The repository whose built services run. Default: this one. */
  checkout?: string | undefined;
  /** Whether PgBouncer is between the services and PostgreSQL, and their DATABASE_POOLER. Default: TEST_POOLER. */
  pooler?: Pooler;
  /** The server to use instead of a new one; the stack stops it. */
  postgres?: TestPostgres;
  /** A URL of its standby, from which issues reads lists. */
  standbyUrl?: string;
}

export type Stack = Awaited<ReturnType<typeof startStack>>;

/** Starts the built services, any number of processes each, with real databases on one PostgreSQL. */
export async function startStack(options: StackOptions = {}) {
  const postgres = options.postgres ?? (await startTestPostgres());
  const databases = {
    identity: await createDatabase(postgres, 'identity', options),
    issues: await createDatabase(postgres, 'issues', options),
  };
  const keys = new SigningKeys();
  keys.add(1);
  const serviceToken = randomBytes(32).toString('base64url');
  const pooler = options.pooler ?? testPooler();
  const pgBouncer = pooler === 'off' ? undefined : await PgBouncer.start(postgres.adminUrl, poolerRoles);
  const services = await createServices(options, {
    variables: {
      identity: connectionVariables(databases.identity, pooler, pgBouncer),
      issues: {
        ...connectionVariables(databases.issues, pooler, pgBouncer),
        ...(options.standbyUrl === undefined
          ? {}
          : { READ_DATABASE_URL: onServer(databases.issues.service, options.standbyUrl) }),
      },
    },
    serviceToken,
    keysDir: keys.directory,
  });
  await services.startBalancers();
  for (const replicas of [services.identities, services.issues])
    for (const service of replicas.slice(0, options.started)) {
      await service.start();
      // Readiness gives the role its timeouts, as before the traffic of a deployment.
      if (pgBouncer !== undefined) await service.untilReady();
    }
  const pools = {
    identity: createPool(databases.identity.owner),
    issues: createPool(databases.issues.owner),
  };
  const admin = createPool(postgres.adminUrl);
  // Connects as the superuser, because PostgreSQL shows the sessions of other roles only to a superuser.
  const waitingForLocks = async (name: ServiceName): Promise<number> => {
    const { rows } = await admin.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = $1",
      [new URL(databases[name].owner).pathname.slice(1)],
    );
    return rows[0].n;
  };
  const stop = async () => {
    await Promise.all([admin, ...Object.values(pools)].map((pool) => pool.end()));
    const codes: (number | null)[] = [];
    for (const service of [...services.issues, ...services.identities]) codes.push(await service.stop());
    await services.stopBalancers();
    await pgBouncer?.stop();
    await postgres.stop();
    keys.remove();
    return codes;
  };
  return {
    ...services,
    databases,
    /** The pooler between the services and PostgreSQL, if there is one. */
    pgBouncer,
    adminUrl: postgres.adminUrl,
    serviceToken,
    keys,
    /** The internal API with the service token. */
    internal: httpClient(services.urls.identity, { headers: { 'X-Service-Token': serviceToken } }),
    sql: (name: ServiceName, text: string, values: unknown[] = []) => pools[name].query(text, values),
    /** The number of a service's statements that wait for a lock. */
    waitingForLocks,
    /** Drains every process. @returns the exit codes, those of issues first */
    stop,
  };
}

interface SharedSettings {
  /** How each service connects to its database. */
  variables: Record<ServiceName, Record<string, string>>;
  serviceToken: string;
  keysDir: string;
}

async function createServices(
  { replicas, behindOneAddress = false, environment, nodeArguments, logDirectory, checkout }: StackOptions,
  shared: SharedSettings,
) {
  const identityPorts = await freePorts(replicas?.identity ?? 1);
  const issuesPorts = await freePorts(replicas?.issues ?? 1);
  const balancedPorts = behindOneAddress ? await freePorts(2) : [];
  const [identityPort = first(identityPorts), issuesPort = issuesPorts[0] ?? 80] = balancedPorts;
  const balancers = behindOneAddress ? [new Balancer(identityPorts), new Balancer(issuesPorts)] : [];
  const identityUrl = `http://127.0.0.1:${identityPort}`;
  const issuesUrl = `http://127.0.0.1:${issuesPort}`;
  const common = {
    SERVICE_TOKEN: shared.serviceToken,
    JWT_ISSUER: identityUrl,
    ALLOW_LOOPBACK_ISSUER: 'on',
  };
  const identity = {
    ...common,
    ...shared.variables.identity,
    JWT_KEYS_DIR: shared.keysDir,
    // A few users send all requests, which would exceed the limits.
    RATE_LIMIT_TOKENS_PER_MINUTE: '0',
    RATE_LIMIT_READS_PER_MINUTE: '0',
    ...environment?.identity,
  };
  const issues = {
    ...common,
    ...shared.variables.issues,
    IDENTITY_URL: identityUrl,
    PUBLIC_BASE_URL: issuesUrl,
    JWKS_COOLDOWN_SECONDS: '1',
    RATE_LIMIT_READS_PER_MINUTE: '0',
    RATE_LIMIT_WRITES_PER_MINUTE: '0',
    RATE_LIMIT_SYNCS_PER_MINUTE: '0',
    ...environment?.issues,
  };
  const processOptions = (name: ServiceName, index: number) => ({
    nodeArguments,
    checkout,
    logFile: logDirectory === undefined ? undefined : join(logDirectory, `${name}-${index + 1}.log`),
  });
  return {
    /** The address of each service for clients. */
    urls: { identity: identityUrl, issues: issuesUrl },
    startBalancers: async () => {
      await Promise.all(balancers.map((balancer, index) => balancer.listen(balancedPorts[index] ?? 0)));
    },
    stopBalancers: async () => {
      await Promise.all(balancers.map((balancer) => balancer.close()));
    },
    identities: identityPorts.map(
      (port, index) =>
        new Service('identity', { ...identity, PORT: String(port) }, processOptions('identity', index)),
    ),
    issues: issuesPorts.map(
      (port, index) =>
        new Service('issues', { ...issues, PORT: String(port) }, processOptions('issues', index)),
    ),
  };
}

/** The URLs of a database, for its service and its owner. */
interface StackDatabase {
  service: string;
  owner: string;
}

function connectionVariables(
  { service }: StackDatabase,
  pooler: Pooler,
  pgBouncer: PgBouncer | undefined,
): Record<string, string> {
  if (pgBouncer === undefined) return { DATABASE_URL: service };
  return { DATABASE_URL: pgBouncer.urlOf(service), DATABASE_POOLER: pooler };
}

/** The URL of the same database on another server. */
function onServer(url: string, server: string): string {
  const moved = new URL(url);
  moved.host = new URL(server).host;
  return moved.href;
}

/**
 * Migrates a database for each service on a test server.
 * @returns what TEST_DATABASE_TEMPLATES is set to, so that stacks on this server copy these databases
 */
export async function createTemplates(server: TestPostgres): Promise<string> {
  const templates = randomBytes(6).toString('hex');
  for (const name of ['identity', 'issues'] as const) {
    await createMigratedDatabase(server, name, `${name}_${templates}`, undefined);
  }
  return templates;
}

// Test files that run in parallel share a given PostgreSQL.
async function createDatabase(
  server: TestPostgres,
  name: ServiceName,
  { checkout, postgres }: StackOptions,
): Promise<StackDatabase> {
  const database = `${name}_${randomBytes(6).toString('hex')}`;
  const templates = checkout === undefined && postgres === undefined ? testDatabaseTemplates() : undefined;
  if (templates === undefined) return createMigratedDatabase(server, name, database, checkout);
  await cloneDatabase(server.adminUrl, `${name}_${templates}`, database, ownerOf(name).role, name);
  const url = withDatabase(server.adminUrl, database);
  return { service: withRole(url, serviceRoleOf(name)), owner: withRole(url, ownerOf(name)) };
}

async function createMigratedDatabase(
  { adminUrl }: TestPostgres,
  name: ServiceName,
  database: string,
  checkout: string | undefined,
): Promise<StackDatabase> {
  const owner = ownerOf(name);
  const service = await createServiceDatabase(adminUrl, { database, ...serviceRoleOf(name), owner });
  const ownerUrl = withRole(service, owner);
  await migrate(name, ownerUrl, checkout);
  return { service, owner: ownerUrl };
}

const ownerOf = (name: ServiceName) => ({ role: `${name}_owner`, password: 'owner' });
const serviceRoleOf = (name: ServiceName) => ({ role: name, password: name });
// The owners only for the proof that the migrator refuses a pooler.
const poolerRoles = (['identity', 'issues'] as const).flatMap((name) => [serviceRoleOf(name), ownerOf(name)]);

function createPool(connectionString: string): pg.Pool {
  const pool = new pg.Pool({ connectionString, max: 1 });
  pool.on('error', () => undefined);
  return pool;
}

async function freePorts(count: number): Promise<number[]> {
  const ports: number[] = [];
  while (ports.length < count) ports.push(await findFreePort());
  return ports;
}

/** The first item of a list. @throws for an empty list */
export function first<Item>(items: readonly Item[]): Item {
  const [item] = items;
  if (item === undefined) throw new Error('The list is empty.');
  return item;
}
