import { z } from 'zod';
import { defaultHttpTimeouts } from '../server/index.ts';
import { flag, integer, list, normalUrl } from './config.ts';

/** Variables of every service that hold a secret and may be given as a file. */
export const serviceSecretNames = ['DATABASE_URL', 'SERVICE_TOKEN', 'SERVICE_TOKEN_PREVIOUS'] as const;

// Text that an HTTP header transmits unchanged.
const headerText = z
  .string()
  .max(512, { error: 'must be at most 512 characters' })
  .regex(/^[\x21-\x7e]+$/, { error: 'must be visible ASCII without spaces' });

/** The variables of every service, as members for its environment schema. */
export function serviceVariables({ defaultPort }: { defaultPort: number }) {
  return {
    NODE_ENV: z
      .enum(['production', 'development', 'test'], { error: 'must be production, development or test' })
      .default('production'),
    HOST: z.string().default('0.0.0.0'),
    PORT: integer({ min: 0, max: 65_535, default: defaultPort }),
    LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
    TRUST_PROXY: z.string().default('off').transform(parseTrustProxy),
    CORS_ORIGINS: list().transform(parseOrigins),
    METRICS_PORT: z.string().default('off').transform(parseMetricsPort),
    SHUTDOWN_DELAY_MS: integer({ min: 0, max: 60_000, default: 5_000 }),
    // The default is below Kubernetes' terminationGracePeriodSeconds of 30.
    SHUTDOWN_TIMEOUT_MS: integer({ min: 100, max: 600_000, default: 25_000 }),
    HTTP_HEADERS_TIMEOUT_MS: integer({
      min: 100,
      max: 60_000,
      default: defaultHttpTimeouts.headersTimeoutMs,
    }),
    HTTP_REQUEST_TIMEOUT_MS: integer({
      min: 100,
      max: 600_000,
      default: defaultHttpTimeouts.requestTimeoutMs,
    }),
    HTTP_KEEP_ALIVE_TIMEOUT_MS: integer({
      min: 100,
      max: 600_000,
      default: defaultHttpTimeouts.keepAliveTimeoutMs,
    }),
    HTTP_DRAIN_TIMEOUT_MS: integer({
      min: 100,
      max: 600_000,
      default: defaultHttpTimeouts.drainTimeoutMs,
    }),
    OTEL_EXPORTER_OTLP_ENDPOINT: z.url({ protocol: /^https?$/, error: 'must be an http(s) URL' }).optional(),
    OTEL_TRACES_SAMPLER_ARG: z
      .string()
      .regex(/^(0(\.\d+)?|1(\.0+)?)$/, { error: 'must be a share from 0 to 1' })
      .default('1')
      .transform(Number),
    EVENTS_RETENTION_DAYS: integer({ min: 1, max: 365, default: 7 }),
    EVENTS_STANDBYS: z
      .string()
      .regex(/^(asynchronous|synchronous(-\d{1,9})?)$/, {
        error: 'must be asynchronous, synchronous, or synchronous-2 and so on after a loss',
      })
      .default('asynchronous'),
    ...databaseVariables,
    SERVICE_TOKEN: headerText.optional(),
    SERVICE_TOKEN_PREVIOUS: headerText.optional(),
    JWT_ISSUER: z.string().transform(normalUrl).optional(),
    ALLOW_LOOPBACK_ISSUER: flag(false),
    JWT_AUDIENCE: list(),
  };
}

/** The URL of a PostgreSQL database. */
export const databaseUrl = z
  .string({ error: 'is required: a postgresql:// URL' })
  .superRefine((value, context) => {
    for (const message of databaseUrlProblems(value)) context.addIssue({ code: 'custom', message });
  });

const tlsModes = ['disable', 'no-verify', 'prefer', 'require', 'verify-ca', 'verify-full'];

// The driver ignores parameters that it does not know: a misspelled one would silently turn TLS off.
function databaseUrlProblems(value: string): string[] {
  if (!/^postgres(ql)?:\/\//.test(value)) return ['must be a postgresql:// URL'];
  if (!URL.canParse(value)) {
    return ['must be a valid postgresql:// URL; special characters of a password are percent-encoded'];
  }
  const parameters = [...new URL(value).searchParams].filter(([name]) => /^ssl/i.test(name));
  const names = parameters.map(([name]) => name);
  const problems: string[] = [];
  if (!names.every((name) => /^ssl(mode|rootcert|cert|key)$/.test(name)))
    problems.push('has an unknown parameter for TLS: use sslmode, sslrootcert, sslcert and sslkey');
  if (new Set(names).size < names.length) problems.push('has a parameter for TLS twice');
  if (parameters.some(([name, mode]) => name === 'sslmode' && !tlsModes.includes(mode)))
    problems.push(`has an unknown sslmode: use one of ${tlsModes.join(', ')}`);
  return problems;
}

const databaseVariables = {
  DATABASE_URL: databaseUrl,
  DATABASE_POOL_MAX: integer({ min: 1, max: 500, default: 10 }),
  DATABASE_CONNECTION_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 2_000 }),
  DATABASE_STATEMENT_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 5_000 }),
  DATABASE_POOLER: z
    .enum(['off', 'transaction', 'transaction-named'], {
      error: 'must be off, transaction or transaction-named',
    })
    .default('off'),
};

/** The variables of the migrator, which needs neither keys nor tokens. */
export const migrationEnvironment = z.object({
  DATABASE_URL: databaseUrl.optional(),
  /** Connects as the role that owns the tables, if it is not the service's role. */
  MIGRATION_DATABASE_URL: databaseUrl.optional(),
  /** The service's role; gets its rights after the migrations. */
  SERVICE_DATABASE_ROLE: z.string().max(63, { error: 'must be at most 63 characters' }).optional(),
});

/** Variables of the migrator that hold a secret and may be given as a file. */
export const migrationSecretNames = ['DATABASE_URL', 'MIGRATION_DATABASE_URL'] as const;

/** Returns a problem if neither `MIGRATION_DATABASE_URL` nor `DATABASE_URL` is set. The migrator prefers the first. */
export function missingDatabaseUrl(
  read: Partial<z.output<typeof migrationEnvironment>>,
  invalid: ReadonlySet<string>,
): string[] {
  return read.MIGRATION_DATABASE_URL === undefined &&
    read.DATABASE_URL === undefined &&
    !invalid.has('MIGRATION_DATABASE_URL')
    ? ['DATABASE_URL: is required, or MIGRATION_DATABASE_URL: a postgresql:// URL']
    : [];
}

const common = z.object(serviceVariables({ defaultPort: 0 }));
type CommonEnvironment = z.output<typeof common>;

/** Settings for `createDatabasePool`. */
export interface DatabaseConfig {
  url: string;
  poolMax: number;
  /** How long a request waits for a connection, in milliseconds; 2,000 by default. Fails fast: the client gets 503 and may retry. */
  connectionTimeoutMs?: number;
  statementTimeoutMs: number;
  /** Whether a pooler in transaction mode is between the service and PostgreSQL; false by default. */
  throughPooler?: boolean;
  /** Whether statements may have names; true by default. */
  namesStatements?: boolean;
}

/** The settings of every service, from its parsed environment. */
export function commonConfig(read: CommonEnvironment) {
  return {
    production: read.NODE_ENV === 'production',
    host: read.HOST,
    port: read.PORT,
    logLevel: read.LOG_LEVEL,
    trustProxy: read.TRUST_PROXY,
    corsOrigins: read.CORS_ORIGINS,
    metricsPort: read.METRICS_PORT,
    tracing: tracingConfig(read),
    shutdownDelayMs: read.SHUTDOWN_DELAY_MS,
    shutdownTimeoutMs: read.SHUTDOWN_TIMEOUT_MS,
    http: {
      headersTimeoutMs: read.HTTP_HEADERS_TIMEOUT_MS,
      requestTimeoutMs: read.HTTP_REQUEST_TIMEOUT_MS,
      keepAliveTimeoutMs: read.HTTP_KEEP_ALIVE_TIMEOUT_MS,
      drainTimeoutMs: read.HTTP_DRAIN_TIMEOUT_MS,
    },
    database: {
      url: read.DATABASE_URL,
      poolMax: read.DATABASE_POOL_MAX,
      connectionTimeoutMs: read.DATABASE_CONNECTION_TIMEOUT_MS,
      statementTimeoutMs: read.DATABASE_STATEMENT_TIMEOUT_MS,
      throughPooler: read.DATABASE_POOLER !== 'off',
      namesStatements: read.DATABASE_POOLER !== 'transaction',
    },
    eventRetentionDays: read.EVENTS_RETENTION_DAYS,
    eventStandbys: read.EVENTS_STANDBYS,
    // RFC 7519 4.1.3: one audience is a string, several are an array.
    audience: read.JWT_AUDIENCE.length > 1 ? read.JWT_AUDIENCE : (read.JWT_AUDIENCE[0] ?? 'tessera'),
  };
}

/** The endpoint to which traces are sent, and the share of traced requests. */
export interface TracingConfig {
  endpoint: string;
  sampleRatio: number;
}

// Null disables tracing.
function tracingConfig(read: CommonEnvironment): TracingConfig | null {
  const { OTEL_EXPORTER_OTLP_ENDPOINT: endpoint, OTEL_TRACES_SAMPLER_ARG: sampleRatio } = read;
  return endpoint === undefined ? null : { endpoint, sampleRatio };
}

/** Whether the strict rules apply. They also apply if `NODE_ENV` is invalid. */
export function isProduction(read: Partial<CommonEnvironment>): boolean {
  return (read.NODE_ENV ?? 'production') === 'production';
}

/** Returns the problems of the service token: it is required, and in production it must be long and random. */
export function serviceTokenProblems(read: Partial<CommonEnvironment>): string[] {
  if (read.SERVICE_TOKEN === undefined) return ['SERVICE_TOKEN: is required'];
  if (!isProduction(read)) return [];
  const names = ['SERVICE_TOKEN', 'SERVICE_TOKEN_PREVIOUS'] as const;
  return names.flatMap((name) => {
    const token = read[name];
    if (token === undefined) return [];
    const example = '(for example: openssl rand -base64 32)';
    if (token.length < 32) return [`${name}: must be at least 32 characters ${example}`];
    return isRepetitive(token) ? [`${name}: must be random ${example}`] : [];
  });
}

/** Whether a secret of 32 characters or bytes has so few different ones that it is not random. */
export function isRepetitive(secret: Iterable<unknown>): boolean {
  return new Set(secret).size < 8;
}

/** docs/spec/identity-service.md 2.6: an HTTP(S) URL without query string or fragment; https in production. */
export function issuerProblems(issuer: string | undefined, read: Partial<CommonEnvironment>): string[] {
  if (issuer === undefined) return ['JWT_ISSUER: is required'];
  if (!URL.canParse(issuer)) return ['JWT_ISSUER: must be an absolute http(s) URL'];
  const url = new URL(issuer);
  const problems: string[] = [];
  if (!['http:', 'https:'].includes(url.protocol))
    problems.push('JWT_ISSUER: must be an absolute http(s) URL');
  if (/[?#]/.test(issuer)) problems.push('JWT_ISSUER: must not have a query string or fragment');
  if (url.username !== '' || url.password !== '') problems.push('JWT_ISSUER: must not hold credentials');
  if (url.hostname.includes('*')) problems.push('JWT_ISSUER: must not hold a wildcard');
  const excused = read.ALLOW_LOOPBACK_ISSUER === true && isLoopback(url.hostname);
  if (isProduction(read) && url.protocol === 'http:' && !excused) {
    problems.push(
      'JWT_ISSUER: must be https in production (a loopback one may be http with ALLOW_LOOPBACK_ISSUER=on)',
    );
  }
  return problems;
}

function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

// The `Origin` header is compared as a string (Fetch standard 3.3): scheme and host in lower case, without a default port.
function parseOrigins(items: string[], context: z.RefinementCtx): string[] {
  const origins = items.map(originOf).filter((origin) => origin !== undefined);
  if (origins.length === items.length) return origins;
  const message = 'must be a list of origins: scheme, host and port, without path and wildcard';
  context.addIssue({ code: 'custom', message });
  return z.NEVER;
}

// The apps of some phones and browser extensions have schemes of their own, with a host.
function originOf(item: string): string | undefined {
  if (!URL.canParse(item) || /[\s*?#@]/.test(item)) return undefined;
  const { protocol, host, pathname } = new URL(item);
  const isOrigin = host !== '' && /^\/?$/.test(pathname) && !/^(wss?|ftp):$/.test(protocol);
  return isOrigin ? `${protocol}//${host.toLowerCase()}` : undefined;
}

// Null disables the metrics server.
function parseMetricsPort(value: string, context: z.RefinementCtx): number | null {
  if (value === 'off') return null;
  if (/^\d{1,5}$/.test(value) && Number(value) <= 65_535) return Number(value);
  context.addIssue({ code: 'custom', message: 'must be off or a port from 0 to 65535' });
  return z.NEVER;
}

// A number of hops or a list of ranges. Express's `true` would trust every X-Forwarded-For header.
function parseTrustProxy(value: string, context: z.RefinementCtx): false | number | string[] {
  if (value === 'off' || value === 'false') return false;
  if (/^[1-9]\d?$/.test(value)) return Number(value);
  const ranges = value.split(',').map((range) => range.trim());
  const range = /^(loopback|linklocal|uniquelocal|(?=.*[.:])[0-9a-fA-F.:]+(\/\d{1,3})?)$/;
  if (ranges.every((item) => range.test(item))) return ranges;
  context.addIssue({
    code: 'custom',
    message: 'must be off, a number of hops, or a list of addresses and CIDR ranges',
  });
  return z.NEVER;
}
