import { SERVICES, type ServiceName } from './services/services.ts';
import { StackError } from './stack-error.ts';

/** Environment variables by name. */
export type Variables = Readonly<Record<string, string>>;

/** The launcher's own variables, and those that it passes on to the services. */
export interface StackEnvironment {
  /** The path as given: absolute, or relative to the repository's root. */
  readonly dataDir: string | undefined;
  readonly ports: Readonly<Record<ServiceName, number>>;
  readonly postgresPort: number | undefined;
  /** External databases, used instead of the embedded ones. */
  readonly databaseUrls: Readonly<Partial<Record<ServiceName, string>>>;
  readonly passedOn: Variables;
}

// The launcher's own variables, and those that it sets for each service.
const NOT_PASSED_ON = new Set([
  'TESSERA_DATA_DIR',
  'TESSERA_POSTGRES_PORT',
  'TEST_DATABASE_URL',
  'TEST_DATABASE_TEMPLATES',
  'TEST_NODE_ARGUMENTS',
  'TEST_POOLER',
  'PORT',
  'DATABASE_URL',
  'DATABASE_URL_FILE',
  'MIGRATION_DATABASE_URL',
  'MIGRATION_DATABASE_URL_FILE',
  'SERVICE_DATABASE_ROLE',
  'NODE_ENV',
  ...SERVICES.flatMap(({ portVariable, databaseVariable }) => [portVariable, databaseVariable]),
]);

/**
 * Reads the environment. An empty variable counts as not set.
 * @throws StackError naming every invalid variable, without its value
 */
export function readEnvironment(source: NodeJS.ProcessEnv = process.env): StackEnvironment {
  const given: Record<string, string> = {};
  for (const [name, value] of Object.entries(source)) if (value) given[name] = value;

  const problems: string[] = [];
  const port = (name: string): number | undefined => {
    const text = given[name];
    if (text === undefined) return undefined;
    const value = /^\d{1,5}$/.test(text) ? Number(text) : 0;
    if (value < 1 || value > 65_535) problems.push(`${name} must be a port number from 1 to 65535`);
    return value;
  };
  const ports = { identity: 0, issues: 0 };
  const databaseUrls: Partial<Record<ServiceName, string>> = {};
  for (const { name, portVariable, defaultPort, databaseVariable } of SERVICES) {
    ports[name] = port(portVariable) ?? defaultPort;
    const url = given[databaseVariable];
    if (url === undefined) continue;
    databaseUrls[name] = url;
    if (!/^postgres(ql)?:\/\//.test(url)) problems.push(`${databaseVariable} must be a postgresql:// URL`);
  }
  if (ports.identity === ports.issues) problems.push('IDENTITY_PORT and ISSUES_PORT must differ');
  const postgresPort = port('TESSERA_POSTGRES_PORT');
  if (problems.length > 0) throw new StackError(problems.join('\n'));

  const passedOn = Object.fromEntries(Object.entries(given).filter(([name]) => !NOT_PASSED_ON.has(name)));
  return { dataDir: given.TESSERA_DATA_DIR, ports, postgresPort, databaseUrls, passedOn };
}

/** The superuser URL of a PostgreSQL for tests, used instead of an embedded one. */
export function testDatabaseUrl(): string | undefined {
  return process.env.TEST_DATABASE_URL || undefined;
}

/** The suffix of the migrated databases on that PostgreSQL that test stacks copy; undefined: each stack migrates its own. */
export function testDatabaseTemplates(): string | undefined {
  return process.env.TEST_DATABASE_TEMPLATES || undefined;
}

/** Arguments for Node with which tests start processes. */
export function testNodeArguments(): string[] {
  return (process.env.TEST_NODE_ARGUMENTS ?? '').split(' ').filter((argument) => argument !== '');
}

/** A pooler between services and PostgreSQL, as in DATABASE_POOLER. */
export type Pooler = 'off' | 'transaction' | 'transaction-named';

/** The pooler of every test stack that names none: PgBouncer, or off. */
export function testPooler(): Pooler {
  const value = process.env.TEST_POOLER || 'off';
  if (value === 'off' || value === 'transaction' || value === 'transaction-named') return value;
  throw new StackError('TEST_POOLER must be off, transaction or transaction-named');
}

/** The only variable of this process's environment that a test stack passes to its services. */
export const searchPath = process.env.PATH;

/** This process's environment with some variables replaced. */
export function withVariables(variables: Variables): NodeJS.ProcessEnv {
  return { ...process.env, ...variables };
}

/** Limits of a service under test that a slow machine does not reach. */
export const patientLimits = {
  DATABASE_CONNECTION_TIMEOUT_MS: '60000',
  DATABASE_STATEMENT_TIMEOUT_MS: '60000',
};
