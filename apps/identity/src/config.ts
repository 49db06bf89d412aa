import { availableParallelism } from 'node:os';
import { ConfigError, flag, integer, list, readConfig } from '@tessera/service-kit';
import { z } from 'zod';

const day = 86_400;
const weakSecret = 'must be at least 32 characters (for example: openssl rand -base64 32)';
// What an HTTP header can carry unchanged.
const headerText = z
  .string()
  .max(512, { error: 'must be at most 512 characters' })
  .regex(/^[\x21-\x7e]+$/, {
    error: 'must be visible ASCII without spaces',
  });

const environmentSchema = z.object({
  NODE_ENV: z
    .enum(['production', 'development', 'test'], { error: 'must be production, development or test' })
    .default('production'),
  HOST: z.string().default('0.0.0.0'),
  PORT: integer({ min: 0, max: 65_535, default: 3001 }),
  LOG_LEVEL: z.enum(['fatal', 'error', 'warn', 'info', 'debug', 'trace', 'silent']).default('info'),
  TRUST_PROXY: z.string().default('off'),
  CORS_ORIGINS: list(),
  SHUTDOWN_DELAY_MS: integer({ min: 0, max: 60_000, default: 5_000 }),

  DATABASE_URL: z.string({ error: 'is required: a postgresql:// URL' }).regex(/^postgres(ql)?:\/\//, {
    error: 'must be a postgresql:// URL',
  }),
  DATABASE_POOL_MAX: integer({ min: 1, max: 500, default: 10 }),
  DATABASE_STATEMENT_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 5_000 }),

  SERVICE_TOKEN: headerText.optional(),
  SERVICE_TOKEN_PREVIOUS: headerText.optional(),

  JWT_ISSUER: z.string().optional(),
  ALLOW_LOOPBACK_ISSUER: flag(false),
  JWT_AUDIENCE: list(),
  JWT_PRIVATE_KEY: z.string().optional(),
  JWT_KEY_NAME: z
    .string()
    .regex(/^[A-Za-z0-9._-]+$/, { error: 'must consist of letters, digits, dots, underscores and hyphens' })
    .default('identity'),
  JWT_KEYS_DIR: z.string().optional(),
  JWT_ACTIVE_KID: z.string().optional(),
  JWT_VERIFY_ONLY_KIDS: list(),

  ACCESS_TOKEN_TTL_SECONDS: integer({ min: 10, max: day, default: 900 }),
  REFRESH_TOKEN_IDLE_TTL_SECONDS: integer({ min: 60, max: 365 * day, default: 14 * day }),
  REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: integer({ min: 60, max: 365 * day, default: 30 * day }),
  REFRESH_REUSE_LEEWAY_SECONDS: integer({ min: 0, max: 300, default: 10 }),
  SESSIONS_VALID_AFTER: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 time with an offset' })
    .transform((value) => new Date(value))
    .optional(),

  BCRYPT_COST: integer({ min: 4, max: 16, default: 10 }),
  PASSWORD_MIN_LENGTH: integer({ min: 1, max: 72, default: 8 }),
  PASSWORD_BLOCKLIST: flag(false),
  HASH_CONCURRENCY: integer({ min: 1, max: 128, default: defaultHashConcurrency() }),
  HASH_QUEUE_MAX: integer({ min: 1, max: 100_000, default: 64 }),
  HASH_QUEUE_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 5_000 }),
  UV_THREADPOOL_SIZE: integer({ min: 1, max: 1024, default: 4 }),

  SIGN_IN_LIMITS: flag(true),
  SIGN_IN_PAIR_LIMIT: integer({ min: 1, max: 1_000_000, default: 10 }),
  SIGN_IN_EMAIL_LIMIT: integer({ min: 1, max: 1_000_000, default: 100 }),
  SIGN_IN_IP_LIMIT: integer({ min: 1, max: 1_000_000, default: 300 }),
  SIGN_IN_WINDOW_SECONDS: integer({ min: 1, max: day, default: 900 }),
});

/** What the migrator needs, which knows neither keys nor tokens. */
export function loadDatabaseUrl(environment: Record<string, string | undefined> = process.env): string {
  return readConfig(environmentSchema.pick({ DATABASE_URL: true }), environment, ['DATABASE_URL'])
    .DATABASE_URL;
}

const secretNames = ['DATABASE_URL', 'SERVICE_TOKEN', 'SERVICE_TOKEN_PREVIOUS', 'JWT_PRIVATE_KEY'];

export type Config = ReturnType<typeof loadConfig>;

/** Reads the environment, once. Throws a `ConfigError` that lists every problem by variable name, never a value. */
export function loadConfig(environment: Record<string, string | undefined> = process.env) {
  const read = readConfig(environmentSchema, environment, secretNames);
  const issuer =
    read.JWT_ISSUER ?? (read.NODE_ENV === 'production' ? undefined : `http://localhost:${read.PORT}`);
  const problems = [
    ...serviceTokenProblems(read),
    ...issuerProblems(issuer, read.NODE_ENV === 'production', read.ALLOW_LOOPBACK_ISSUER),
    ...keyProblems(read),
    ...hashingProblems(read),
  ];
  if (read.REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS < read.REFRESH_TOKEN_IDLE_TTL_SECONDS) {
    problems.push('REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: must not be below REFRESH_TOKEN_IDLE_TTL_SECONDS');
  }
  const trustProxy = parseTrustProxy(read.TRUST_PROXY);
  if (trustProxy === undefined)
    problems.push('TRUST_PROXY: must be off, a number of hops, or a list of addresses and CIDR ranges');
  if (problems.length > 0 || issuer === undefined || read.SERVICE_TOKEN === undefined)
    throw new ConfigError(problems);
  return {
    production: read.NODE_ENV === 'production',
    host: read.HOST,
    port: read.PORT,
    logLevel: read.LOG_LEVEL,
    trustProxy: trustProxy ?? false,
    corsOrigins: read.CORS_ORIGINS,
    shutdownDelayMs: read.SHUTDOWN_DELAY_MS,
    database: {
      url: read.DATABASE_URL,
      poolMax: read.DATABASE_POOL_MAX,
      statementTimeoutMs: read.DATABASE_STATEMENT_TIMEOUT_MS,
    },
    serviceTokens: [read.SERVICE_TOKEN, read.SERVICE_TOKEN_PREVIOUS].filter((token) => token !== undefined),
    issuer,
    audience: audienceOf(read.JWT_AUDIENCE),
    keys: {
      privateKey: read.JWT_PRIVATE_KEY,
      keyName: read.JWT_KEY_NAME,
      directory: read.JWT_KEYS_DIR,
      activeKid: read.JWT_ACTIVE_KID,
      verifyOnlyKids: read.JWT_VERIFY_ONLY_KIDS,
    },
    tokens: {
      accessTtlSeconds: read.ACCESS_TOKEN_TTL_SECONDS,
      refreshIdleTtlSeconds: read.REFRESH_TOKEN_IDLE_TTL_SECONDS,
      refreshAbsoluteTtlSeconds: read.REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS,
      reuseLeewaySeconds: read.REFRESH_REUSE_LEEWAY_SECONDS,
      /** Emergency brake: sessions that began earlier are over. */
      sessionsValidAfter: read.SESSIONS_VALID_AFTER ?? new Date(0),
    },
    passwords: {
      bcryptCost: read.BCRYPT_COST,
      minLength: read.PASSWORD_MIN_LENGTH,
      blocklist: read.PASSWORD_BLOCKLIST,
      hashConcurrency: read.HASH_CONCURRENCY,
      hashQueueMax: read.HASH_QUEUE_MAX,
      hashQueueTimeoutMs: read.HASH_QUEUE_TIMEOUT_MS,
    },
    signInLimits: {
      enabled: read.SIGN_IN_LIMITS,
      pairLimit: read.SIGN_IN_PAIR_LIMIT,
      emailLimit: read.SIGN_IN_EMAIL_LIMIT,
      ipLimit: read.SIGN_IN_IP_LIMIT,
      windowSeconds: read.SIGN_IN_WINDOW_SECONDS,
    },
  };
}

type Environment = z.output<typeof environmentSchema>;

function serviceTokenProblems(read: Environment): string[] {
  if (read.SERVICE_TOKEN === undefined) return ['SERVICE_TOKEN: is required'];
  const names = ['SERVICE_TOKEN', 'SERVICE_TOKEN_PREVIOUS'] as const;
  return names
    .filter((name) => read.NODE_ENV === 'production' && (read[name]?.length ?? 32) < 32)
    .map((name) => `${name}: ${weakSecret}`);
}

// identity-service.md 2.6: an HTTP(S) URL without query string or fragment; https in production.
function issuerProblems(issuer: string | undefined, production: boolean, allowLoopback: boolean): string[] {
  if (issuer === undefined) return ['JWT_ISSUER: is required'];
  if (!URL.canParse(issuer)) return ['JWT_ISSUER: must be an absolute http(s) URL'];
  const url = new URL(issuer);
  const problems: string[] = [];
  if (!['http:', 'https:'].includes(url.protocol))
    problems.push('JWT_ISSUER: must be an absolute http(s) URL');
  if (/[?#]/.test(issuer)) problems.push('JWT_ISSUER: must not have a query string or fragment');
  if (url.username !== '' || url.password !== '') problems.push('JWT_ISSUER: must not hold credentials');
  const loopback = ['localhost', '127.0.0.1', '[::1]'].includes(url.hostname);
  if (production && url.protocol === 'http:' && !(allowLoopback && loopback)) {
    problems.push(
      'JWT_ISSUER: must be https in production (a loopback one may be http with ALLOW_LOOPBACK_ISSUER=on)',
    );
  }
  return problems;
}

function keyProblems(read: Environment): string[] {
  if (read.JWT_PRIVATE_KEY !== undefined && read.JWT_KEYS_DIR !== undefined) {
    return ['JWT_PRIVATE_KEY: is given together with JWT_KEYS_DIR; give one of them'];
  }
  if (
    read.NODE_ENV === 'production' &&
    read.JWT_PRIVATE_KEY === undefined &&
    read.JWT_KEYS_DIR === undefined
  ) {
    return ['JWT_PRIVATE_KEY: is required, or JWT_KEYS_DIR'];
  }
  return [];
}

function hashingProblems(read: Environment): string[] {
  const problems: string[] = [];
  if (read.NODE_ENV === 'production' && read.BCRYPT_COST < 10) {
    problems.push('BCRYPT_COST: must be at least 10 in production');
  }
  // One thread stays free for DNS, files and signatures, which share libuv's pool with bcrypt.
  if (read.HASH_CONCURRENCY >= read.UV_THREADPOOL_SIZE) {
    problems.push(
      'HASH_CONCURRENCY: must be below UV_THREADPOOL_SIZE (4 unless set before the process starts)',
    );
  }
  return problems;
}

function defaultHashConcurrency(): number {
  const threads = Number(process.env.UV_THREADPOOL_SIZE ?? 4);
  return Math.max(1, Math.min(availableParallelism(), threads - 1));
}

// RFC 7519 4.1.3: one audience is a string, several are an array.
function audienceOf(values: string[]): string | string[] {
  return values.length > 1 ? values : (values[0] ?? 'tessera');
}

function parseTrustProxy(value: string): false | number | string[] | undefined {
  if (value === 'off' || value === 'false') return false;
  if (/^[1-9]\d?$/.test(value)) return Number(value);
  const ranges = value.split(',').map((range) => range.trim());
  const range = /^(loopback|linklocal|uniquelocal|[0-9a-fA-F.:]+(\/\d{1,3})?)$/;
  return ranges.every((item) => range.test(item) && /[.:a-z]/.test(item)) ? ranges : undefined;
}
