import { availableParallelism } from 'node:os';
import {
  commonConfig,
  flag,
  integer,
  isProduction,
  issuerProblems,
  list,
  normalUrl,
  readConfig,
  serviceSecretNames,
  serviceTokenProblems,
  serviceVariables,
} from '@tessera/service-kit';
import { z } from 'zod';
import { namedServiceTokens } from './identities/service-token-access.ts';
import { isReadable } from './pages/color.ts';

const day = 86_400;

/** The environment of the process. No other file reads `process.env`. */
export const environment: Record<string, string | undefined> = process.env;

/** `environment-reference.ts` has what each variable means, and the compiler finds a missing one. */
export const environmentSchema = z.object({
  ...serviceVariables({ defaultPort: 3001 }),
  SERVICE_TOKENS: namedServiceTokens,

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
  ACCESS_TOKEN_TYP: z.enum(['at+jwt', 'JWT'], { error: 'must be at+jwt or JWT' }).default('at+jwt'),
  TOKEN_ENDPOINT_REFRESH: flag(false),
  REFRESH_REUSE_LEEWAY_SECONDS: integer({ min: 0, max: 300, default: 10 }),
  SESSIONS_VALID_AFTER: z.iso
    .datetime({ offset: true, error: 'must be an ISO 8601 time with an offset' })
    .transform((value) => new Date(value))
    // Every token would be refused until then. The clocks of operators may differ.
    .refine((time) => time.getTime() < Date.now() + 86_400_000, { error: 'must not be in the future' })
    .optional(),

  BCRYPT_COST: integer({ min: 4, max: 16, default: 10 }),
  PASSWORD_MIN_LENGTH: integer({ min: 1, max: 72, default: 8 }),
  PASSWORD_BLOCKLIST: flag(true),
  HASH_CONCURRENCY: integer({ min: 1, max: 128, default: defaultHashConcurrency() }),
  HASH_QUEUE_MAX: integer({ min: 1, max: 100_000, default: 64 }),
  HASH_QUEUE_TIMEOUT_MS: integer({ min: 100, max: 60_000, default: 5_000 }),
  UV_THREADPOOL_SIZE: integer({ min: 1, max: 1024, default: 4 }),

  SIGN_IN_LIMITS: flag(true),
  SIGN_IN_PAIR_LIMIT: integer({ min: 1, max: 1_000_000, default: 10 }),
  SIGN_IN_EMAIL_LIMIT: integer({ min: 1, max: 1_000_000, default: 100 }),
  SIGN_IN_IP_LIMIT: integer({ min: 1, max: 1_000_000, default: 300 }),
  SIGN_IN_WINDOW_SECONDS: integer({ min: 1, max: day, default: 900 }),

  HOSTED_SIGN_IN: flag(false),

  RATE_LIMIT_TOKENS_PER_MINUTE: integer({ min: 0, max: 1_000_000, default: 60 }),
  RATE_LIMIT_READS_PER_MINUTE: integer({ min: 0, max: 1_000_000, default: 1_200 }),

  JANITOR_INTERVAL_SECONDS: integer({ min: 0, max: day, default: 600 }),
  AUDIT_RETENTION_DAYS: integer({ min: 0, max: 36_500, default: 400 }),

  BRAND_NAME: z
    .string()
    .regex(/^[^\p{C}\p{Z}](?:[^\p{C}]{0,58}[^\p{C}\p{Z}])?$/u, {
      error: 'must have 1 to 60 characters, without control characters',
    })
    .default('Tessera'),
  BRAND_COLOR: z
    .string()
    .regex(/^#[0-9a-f]{6}$/i, { error: 'must be a color such as #3b4fd8', abort: true })
    .refine(isReadable, { error: 'must have a contrast of at least 4.5:1 to white' })
    .transform((color) => color.toLowerCase())
    .default('#3b4fd8'),
  BRAND_LOGO: z.string().optional(),
  BRAND_CLIENT_LOGOS: z.string().optional(),
  BRAND_MESSAGES: z.string().optional(),
});

export const secretNames = [...serviceSecretNames, 'SERVICE_TOKENS', 'JWT_PRIVATE_KEY'];

export type Config = ReturnType<typeof loadConfig>;

/** Throws a `ConfigError` that lists every problem by variable name. Messages never contain values. */
export function loadConfig(variables = environment) {
  const parsed = readConfig(environmentSchema, variables, secretNames, findProblems);
  const { eventRetentionDays, ...common } = commonConfig(parsed);
  return {
    ...common,
    serviceTokens: {
      current: parsed.SERVICE_TOKEN ?? '',
      previous: parsed.SERVICE_TOKEN_PREVIOUS,
      named: parsed.SERVICE_TOKENS,
    },
    issuer: issuerOf(parsed) ?? '',
    keys: {
      privateKey: parsed.JWT_PRIVATE_KEY,
      keyName: parsed.JWT_KEY_NAME,
      directory: parsed.JWT_KEYS_DIR,
      activeKid: parsed.JWT_ACTIVE_KID,
      verifyOnlyKids: parsed.JWT_VERIFY_ONLY_KIDS,
    },
    tokens: {
      accessTtlSeconds: parsed.ACCESS_TOKEN_TTL_SECONDS,
      accessTyp: parsed.ACCESS_TOKEN_TYP,
      /** Whether `/token` also accepts the refresh_token grant. */
      refreshAtTokenEndpoint: parsed.TOKEN_ENDPOINT_REFRESH,
      refreshIdleTtlSeconds: parsed.REFRESH_TOKEN_IDLE_TTL_SECONDS,
      refreshAbsoluteTtlSeconds: parsed.REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS,
      reuseLeewaySeconds: parsed.REFRESH_REUSE_LEEWAY_SECONDS,
      /** Sessions that started earlier are invalid. Operators set it after a key has leaked. */
      sessionsValidAfter: parsed.SESSIONS_VALID_AFTER ?? new Date(0),
    },
    passwords: {
      bcryptCost: parsed.BCRYPT_COST,
      minLength: parsed.PASSWORD_MIN_LENGTH,
      blocklist: parsed.PASSWORD_BLOCKLIST,
      hashConcurrency: parsed.HASH_CONCURRENCY,
      hashQueueMax: parsed.HASH_QUEUE_MAX,
      hashQueueTimeoutMs: parsed.HASH_QUEUE_TIMEOUT_MS,
    },
    signInLimits: {
      enabled: parsed.SIGN_IN_LIMITS,
      pairLimit: parsed.SIGN_IN_PAIR_LIMIT,
      emailLimit: parsed.SIGN_IN_EMAIL_LIMIT,
      ipLimit: parsed.SIGN_IN_IP_LIMIT,
      windowSeconds: parsed.SIGN_IN_WINDOW_SECONDS,
    },
    /** Whether applications can sign people in with OpenID Connect and the pages of this service. */
    hostedSignIn: parsed.HOSTED_SIGN_IN,
    rateLimits: {
      tokensPerMinute: parsed.RATE_LIMIT_TOKENS_PER_MINUTE,
      readsPerMinute: parsed.RATE_LIMIT_READS_PER_MINUTE,
    },
    /** Names and files for the pages. */
    branding: {
      name: parsed.BRAND_NAME,
      color: parsed.BRAND_COLOR,
      logo: parsed.BRAND_LOGO,
      clientLogos: parsed.BRAND_CLIENT_LOGOS,
      messages: parsed.BRAND_MESSAGES,
    },
    cleanup: {
      intervalSeconds: parsed.JANITOR_INTERVAL_SECONDS,
      auditRetentionDays: parsed.AUDIT_RETENTION_DAYS,
      eventRetentionDays,
    },
  };
}

/** The settings that `keys-cli` needs; it requires none of the service's secrets. */
export function loadKeysConfig(variables = environment) {
  const names = {
    JWT_KEY_NAME: true,
    JWT_KEYS_DIR: true,
    JWT_ACTIVE_KID: true,
    ACCESS_TOKEN_TTL_SECONDS: true,
    REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: true,
  } as const;
  const parsed = readConfig(environmentSchema.pick(names), variables);
  return {
    directory: parsed.JWT_KEYS_DIR,
    keyName: parsed.JWT_KEY_NAME,
    activeKid: parsed.JWT_ACTIVE_KID,
    lifetimes: {
      accessTtlSeconds: parsed.ACCESS_TOKEN_TTL_SECONDS,
      refreshAbsoluteTtlSeconds: parsed.REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS,
    },
  };
}

/** The settings that `clients-cli` needs; it requires none of the service's secrets but the database. */
export function loadClientsConfig(variables = environment) {
  const parsed = readConfig(environmentSchema, { ...variables, NODE_ENV: 'development' }, ['DATABASE_URL']);
  const { database, audience } = commonConfig(parsed);
  return { database, audience, issuer: issuerOf(parsed) };
}

type Environment = Partial<z.output<typeof environmentSchema>>;

function findProblems(parsed: Environment): string[] {
  return [
    ...serviceTokenProblems(parsed),
    ...issuerProblems(issuerOf(parsed), parsed),
    ...keyProblems(parsed),
    ...lifetimeProblems(parsed),
    ...hashingProblems(parsed),
    ...passwordProblems(parsed),
    ...retentionProblems(parsed),
  ];
}

// The issuer has a default outside production only.
function issuerOf(parsed: Environment): string | undefined {
  return (
    parsed.JWT_ISSUER ?? (isProduction(parsed) ? undefined : normalUrl(`http://localhost:${parsed.PORT}`))
  );
}

function keyProblems(parsed: Environment): string[] {
  if (parsed.JWT_PRIVATE_KEY !== undefined && parsed.JWT_KEYS_DIR !== undefined) {
    return ['JWT_PRIVATE_KEY: cannot be combined with JWT_KEYS_DIR; set one of them'];
  }
  if (isProduction(parsed) && parsed.JWT_PRIVATE_KEY === undefined && parsed.JWT_KEYS_DIR === undefined) {
    return ['JWT_PRIVATE_KEY: is required unless JWT_KEYS_DIR is set'];
  }
  return [];
}

function lifetimeProblems(parsed: Environment): string[] {
  const { REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: absolute = 0, REFRESH_TOKEN_IDLE_TTL_SECONDS: idle = 0 } =
    parsed;
  if (absolute >= idle) return [];
  return ['REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: must not be less than REFRESH_TOKEN_IDLE_TTL_SECONDS'];
}

function hashingProblems(parsed: Environment): string[] {
  const {
    BCRYPT_COST: cost = 10,
    HASH_CONCURRENCY: concurrency = 1,
    UV_THREADPOOL_SIZE: threads = 4,
  } = parsed;
  const problems: string[] = [];
  if (isProduction(parsed) && cost < 10) problems.push('BCRYPT_COST: must be at least 10 in production');
  // DNS lookups, file access and signatures share libuv's thread pool with bcrypt: keep one thread free for them.
  if (concurrency >= threads) {
    problems.push(
      'HASH_CONCURRENCY: must be less than UV_THREADPOOL_SIZE (default 4; set it before the process starts)',
    );
  }
  return problems;
}

// NIST SP 800-63B-4 3.1.1.2 requires the blocklist.
function passwordProblems({ PASSWORD_BLOCKLIST: isOn, NODE_ENV: mode }: Environment): string[] {
  return isOn === false && mode !== 'test' ? ['PASSWORD_BLOCKLIST: can be off with NODE_ENV=test only'] : [];
}

// A database trigger rejects the deletion of events younger than 30 days.
function retentionProblems({ AUDIT_RETENTION_DAYS: days = 0 }: Environment): string[] {
  return days > 0 && days < 30 ? ['AUDIT_RETENTION_DAYS: must be 0 (keep forever) or at least 30'] : [];
}

function defaultHashConcurrency(): number {
  const threads = Number(environment.UV_THREADPOOL_SIZE ?? 4);
  return Math.max(1, Math.min(availableParallelism(), threads - 1));
}
