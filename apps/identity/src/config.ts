import { availableParallelism } from 'node:os';
import {
  commonConfig,
  flag,
  integer,
  isProduction,
  issuerProblems,
  list,
  readConfig,
  serviceSecretNames,
  serviceTokenProblems,
  serviceVariables,
} from '@tessera/service-kit';
import { z } from 'zod';

const day = 86_400;

/** The process's environment; only this file reads it. */
export const environment: Record<string, string | undefined> = process.env;

const environmentSchema = z.object({
  ...serviceVariables({ defaultPort: 3001 }),

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

  JANITOR_INTERVAL_SECONDS: integer({ min: 0, max: day, default: 600 }),
  AUDIT_RETENTION_DAYS: integer({ min: 0, max: 36_500, default: 400 }),
});

const secretNames = [...serviceSecretNames, 'JWT_PRIVATE_KEY'];

export type Config = ReturnType<typeof loadConfig>;

/** Reads the environment, once. Throws a `ConfigError` that lists every problem by variable name, never a value. */
export function loadConfig(variables = environment) {
  const read = readConfig(environmentSchema, variables, secretNames, problemsOf);
  return {
    ...commonConfig(read),
    serviceTokens: [read.SERVICE_TOKEN, read.SERVICE_TOKEN_PREVIOUS].filter((token) => token !== undefined),
    issuer: issuerOf(read) ?? '',
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
    janitor: {
      intervalSeconds: read.JANITOR_INTERVAL_SECONDS,
      auditRetentionDays: read.AUDIT_RETENTION_DAYS,
    },
  };
}

/** What the rotation of keys reads: the service's own settings, none of its secrets. */
export function loadKeysConfig(variables = environment) {
  const names = {
    JWT_KEY_NAME: true,
    JWT_KEYS_DIR: true,
    JWT_ACTIVE_KID: true,
    ACCESS_TOKEN_TTL_SECONDS: true,
    REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: true,
  } as const;
  const read = readConfig(environmentSchema.pick(names), variables);
  return {
    directory: read.JWT_KEYS_DIR,
    keyName: read.JWT_KEY_NAME,
    activeKid: read.JWT_ACTIVE_KID,
    lifetimes: {
      accessTtlSeconds: read.ACCESS_TOKEN_TTL_SECONDS,
      refreshAbsoluteTtlSeconds: read.REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS,
    },
  };
}

type Environment = Partial<z.output<typeof environmentSchema>>;

function problemsOf(read: Environment): string[] {
  return [
    ...serviceTokenProblems(read),
    ...issuerProblems(issuerOf(read), read),
    ...keyProblems(read),
    ...lifetimeProblems(read),
    ...hashingProblems(read),
    ...retentionProblems(read),
  ];
}

// Only outside production is there an issuer that nobody configured.
function issuerOf(read: Environment): string | undefined {
  return read.JWT_ISSUER ?? (isProduction(read) ? undefined : `http://localhost:${read.PORT}`);
}

function keyProblems(read: Environment): string[] {
  if (read.JWT_PRIVATE_KEY !== undefined && read.JWT_KEYS_DIR !== undefined) {
    return ['JWT_PRIVATE_KEY: is given together with JWT_KEYS_DIR; give one of them'];
  }
  if (isProduction(read) && read.JWT_PRIVATE_KEY === undefined && read.JWT_KEYS_DIR === undefined) {
    return ['JWT_PRIVATE_KEY: is required, or JWT_KEYS_DIR'];
  }
  return [];
}

function lifetimeProblems(read: Environment): string[] {
  const { REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: absolute = 0, REFRESH_TOKEN_IDLE_TTL_SECONDS: idle = 0 } = read;
  if (absolute >= idle) return [];
  return ['REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: must not be below REFRESH_TOKEN_IDLE_TTL_SECONDS'];
}

function hashingProblems(read: Environment): string[] {
  const { BCRYPT_COST: cost = 10, HASH_CONCURRENCY: concurrency = 1, UV_THREADPOOL_SIZE: threads = 4 } = read;
  const problems: string[] = [];
  if (isProduction(read) && cost < 10) problems.push('BCRYPT_COST: must be at least 10 in production');
  // One thread stays free for DNS, files and signatures, which share libuv's pool with bcrypt.
  if (concurrency >= threads) {
    problems.push(
      'HASH_CONCURRENCY: must be below UV_THREADPOOL_SIZE (4 unless set before the process starts)',
    );
  }
  return problems;
}

// The database keeps an event for 30 days, whatever is asked of it.
function retentionProblems({ AUDIT_RETENTION_DAYS: days = 0 }: Environment): string[] {
  return days > 0 && days < 30 ? ['AUDIT_RETENTION_DAYS: must be 0, for ever, or at least 30'] : [];
}

function defaultHashConcurrency(): number {
  const threads = Number(environment.UV_THREADPOOL_SIZE ?? 4);
  return Math.max(1, Math.min(availableParallelism(), threads - 1));
}
