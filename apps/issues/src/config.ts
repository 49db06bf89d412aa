import { createSecretKey, type KeyObject, randomBytes } from 'node:crypto';
import {
  commonConfig,
  databaseUrl,
  flag,
  integer,
  isProduction,
  isRepetitive,
  issuerProblems,
  normalUrl,
  readConfig,
  serviceSecretNames,
  serviceTokenProblems,
  serviceVariables,
} from '@tessera/service-kit';
import { z } from 'zod';
import {
  s3Config,
  storeProblems,
  storeSecretNames,
  storeVariables,
} from './attachments/store-environment.ts';
import {
  trackerProblems,
  trackerSecretNames,
  trackerVariables,
  trackingConfig,
} from './tracker-sync/tracker-environment.ts';
import { isNetwork } from './webhooks/webhook-target.ts';

/** The process environment. Only this file reads it. */
export const environment: Record<string, string | undefined> = process.env;

const origin = z
  .string({ error: 'is required: an http(s) URL' })
  .refine(isHttpUrl, { error: 'must be an http(s) URL without query, fragment and credentials' })
  .transform((value) => normalUrl(value).replace(/\/+$/, ''));

export const secretNames = [
  ...serviceSecretNames,
  ...trackerSecretNames,
  ...storeSecretNames,
  'READ_DATABASE_URL',
  'SESSION_KEYS',
  'OIDC_CLIENT_SECRET',
];

/** `environment-reference.ts` has what each variable means, and the compiler finds a missing one. */
export const environmentSchema = z.object({
  ...serviceVariables({ defaultPort: 3002 }),

  READ_DATABASE_URL: databaseUrl.optional(),
  IDENTITY_URL: origin,
  JWKS_URI: z.string().refine(isHttpUrl, { error: 'must be an http(s) URL' }).optional(),
  IDENTITY_TIMEOUT_MS: integer({ min: 100, max: 30_000, default: 2_000 }),
  MIRROR_INTERVAL_SECONDS: integer({ min: 0, max: 86_400, default: 30 }),
  JWKS_COOLDOWN_SECONDS: integer({ min: 1, max: 3_600, default: 30 }),
  CLOCK_TOLERANCE_SECONDS: integer({ min: 0, max: 30, default: 5 }),
  PUBLIC_BASE_URL: origin,

  EVENTS_LISTEN: flag(true),
  WEBHOOK_ALLOW_HTTP: flag(false),
  WEBHOOK_ALLOWED_NETWORKS: z.string().default('').transform(parseNetworks),
  LIST_MAX: integer({ min: 1, max: 1_000, default: 100 }),
  ISSUE_KEY_PREFIX: z
    .string()
    .regex(/^[A-Z][A-Z0-9]{0,9}$/, { error: 'must be 1 to 10 upper-case letters and digits, a letter first' })
    .default('ISS'),
  REQUIRE_VERIFIED: z.enum(['off', 'write', 'all'], { error: 'must be off, write or all' }).default('off'),
  REQUIRE_PRECONDITION: flag(false),
  STRICT_PRIVILEGE_CHECK: flag(false),
  JANITOR_INTERVAL_SECONDS: integer({ min: 0, max: 86_400, default: 600 }),
  ...trackerVariables,
  ...storeVariables,

  WEB_APP: flag(false),
  SESSION_KEYS: z.string().default('').transform(parseSessionKeys),
  SIGN_IN: z.enum(['form', 'hosted'], { error: 'must be form or hosted' }).default('form'),
  OIDC_CLIENT_ID: z.guid({ error: 'must be the id of a client' }).optional(),
  OIDC_CLIENT_SECRET: z.string().optional(),

  RATE_LIMIT_READS_PER_MINUTE: integer({ min: 0, max: 1_000_000, default: 1_200 }),
  RATE_LIMIT_WRITES_PER_MINUTE: integer({ min: 0, max: 1_000_000, default: 300 }),
  RATE_LIMIT_SYNCS_PER_MINUTE: integer({ min: 0, max: 1_000_000, default: 30 }),
  RATE_LIMIT_SIGN_INS_PER_MINUTE: integer({ min: 0, max: 1_000_000, default: 60 }),
});

export type Config = ReturnType<typeof loadConfig>;

/** Reads the environment. Throws a `ConfigError` that lists every invalid variable by name, never its value. */
export function loadConfig(variables = environment) {
  const read = readConfig(environmentSchema, variables, secretNames, problemsOf);
  return {
    ...commonConfig(read),
    /** Undefined if lists are read from the primary. */
    readDatabaseUrl: read.READ_DATABASE_URL,
    issuer: issuerOf(read) ?? '',
    publicBaseUrl: read.PUBLIC_BASE_URL,
    identity: {
      url: read.IDENTITY_URL,
      serviceToken: read.SERVICE_TOKEN ?? '',
      previousServiceToken: read.SERVICE_TOKEN_PREVIOUS,
      timeoutMs: read.IDENTITY_TIMEOUT_MS,
      jwksUri: read.JWKS_URI ?? `${read.IDENTITY_URL}/jwks`,
      jwksCooldownSeconds: read.JWKS_COOLDOWN_SECONDS,
      clockToleranceSeconds: read.CLOCK_TOLERANCE_SECONDS,
    },
    mirrorIntervalSeconds: read.MIRROR_INTERVAL_SECONDS,
    webhooks: {
      allowsHttp: read.WEBHOOK_ALLOW_HTTP || !isProduction(read),
      allowedNetworks: read.WEBHOOK_ALLOWED_NETWORKS,
    },
    // LISTEN has no effect through a pooler in transaction mode.
    listensForEvents: read.EVENTS_LISTEN && read.DATABASE_POOLER === 'off',
    listMax: read.LIST_MAX,
    keyPrefix: read.ISSUE_KEY_PREFIX,
    requireVerified: read.REQUIRE_VERIFIED,
    requirePrecondition: read.REQUIRE_PRECONDITION,
    strictPrivilegeCheck: read.STRICT_PRIVILEGE_CHECK,
    tracking: trackingConfig(read),
    attachments: { name: read.ATTACHMENT_STORE, s3: s3Config(read) },
    cleanupIntervalSeconds: read.JANITOR_INTERVAL_SECONDS,
    /** Undefined without the web app. */
    webApp: read.WEB_APP ? webAppConfig(read) : undefined,
    /** Per identity, and sign-ins per address; 0 disables the limit. */
    rateLimits: {
      readsPerMinute: read.RATE_LIMIT_READS_PER_MINUTE,
      writesPerMinute: read.RATE_LIMIT_WRITES_PER_MINUTE,
      syncsPerMinute: read.RATE_LIMIT_SYNCS_PER_MINUTE,
      signInsPerMinute: read.RATE_LIMIT_SIGN_INS_PER_MINUTE,
    },
  };
}

type Environment = Partial<z.output<typeof environmentSchema>>;

function problemsOf(read: Environment): string[] {
  return [
    ...serviceTokenProblems(read),
    ...issuerProblems(issuerOf(read), read),
    ...trackerProblems(read, isProduction(read)),
    ...storeProblems(read, isProduction(read)),
    ...webAppProblems(read),
  ];
}

function webAppProblems(read: Environment): string[] {
  if (read.WEB_APP !== true) return [];
  const problems: string[] = [];
  if (isProduction(read) && read.SESSION_KEYS?.length === 0)
    problems.push('SESSION_KEYS: is required with WEB_APP=on (for example: openssl rand -base64 32)');
  const { protocol, hostname } = new URL(read.PUBLIC_BASE_URL ?? 'https://localhost');
  // Browsers send and keep a cookie without `Secure` over http, where everyone on the network reads it.
  if (protocol === 'http:' && !isLoopback(hostname))
    problems.push('PUBLIC_BASE_URL: must be https, or http on a loopback address, with WEB_APP=on');
  if ((read.OIDC_CLIENT_ID === undefined) !== (read.OIDC_CLIENT_SECRET === undefined))
    problems.push('OIDC_CLIENT_ID: must be set together with OIDC_CLIENT_SECRET');
  return problems;
}

function webAppConfig(read: z.output<typeof environmentSchema>) {
  const { SESSION_KEYS: keys, PUBLIC_BASE_URL: url } = read;
  // Outside production, the sessions may end with the process.
  const sessionKeys = keys.length > 0 ? keys : [createSecretKey(randomBytes(32))];
  const hosted = read.SIGN_IN === 'hosted' ? hostedConfig(read) : undefined;
  return { sessionKeys, isSecure: url.startsWith('https:'), hosted };
}

function hostedConfig(read: z.output<typeof environmentSchema>) {
  const { OIDC_CLIENT_ID: clientId, OIDC_CLIENT_SECRET: secret, PUBLIC_BASE_URL: publicBaseUrl } = read;
  return {
    issuer: `${issuerOf(read)}/oidc`,
    publicBaseUrl,
    clockToleranceSeconds: read.CLOCK_TOLERANCE_SECONDS,
    audiences: [commonConfig(read).audience].flat(),
    // A loopback address is the same machine only for a process on it.
    isReachable: publicBaseUrl.startsWith('https:') || isLoopback(new URL(read.IDENTITY_URL).hostname),
    credentials: clientId === undefined || secret === undefined ? undefined : { clientId, secret },
  };
}

function isLoopback(hostname: string): boolean {
  return ['localhost', '127.0.0.1', '[::1]'].includes(hostname);
}

function parseNetworks(value: string, context: z.RefinementCtx): string[] {
  const networks = value
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  if (networks.every(isNetwork)) return networks;
  context.addIssue({ code: 'custom', message: 'must be a list of networks, such as 10.0.0.0/8,fd00::/8' });
  return z.NEVER;
}

function parseSessionKeys(value: string, context: z.RefinementCtx): KeyObject[] {
  const texts = value
    .split(',')
    .map((text) => text.trim())
    .filter((text) => text !== '');
  // 43 characters are 32 bytes.
  if (!texts.every((text) => /^[A-Za-z0-9+/_-]{43}=?$/.test(text)))
    context.addIssue({ code: 'custom', message: 'must be a list of keys of 32 bytes, each as base64' });
  else if (texts.some((text) => isRepetitive(Buffer.from(text, 'base64'))))
    context.addIssue({ code: 'custom', message: 'must be random (for example: openssl rand -base64 32)' });
  return texts.map((text) => createSecretKey(text, 'base64'));
}

// Outside production, defaults to identity's default issuer.
function issuerOf(read: Environment): string | undefined {
  return read.JWT_ISSUER ?? (isProduction(read) ? undefined : 'http://localhost:3001');
}

function isHttpUrl(value: string): boolean {
  if (!URL.canParse(value) || /[?#]/.test(value)) return false;
  const { protocol, hostname, username, password } = new URL(value);
  const isHttp = ['http:', 'https:'].includes(protocol);
  return isHttp && !hostname.includes('*') && username === '' && password === '';
}
