import type { VariableReference } from '@tessera/service-kit';
import type { environmentSchema } from './config.ts';

/** The variables of identity for docs/reference/environment.md, in its order. */
export const environmentReference = {
  SERVICE_TOKENS:
    'further tokens, one line `name=SHA-256` each, at most 100: [named tokens](../identity/service-token.md#named-tokens)',
  DATABASE_POOL_MAX:
    'connections for requests, and one for readiness; all replicas together below `max_connections`',
  JWT_PRIVATE_KEY:
    'one RSA key of at least 2048 bits, as PEM or base64-encoded PEM; its kid is `<JWT_KEY_NAME>-key-1`',
  JWT_KEY_NAME: 'prefix of kids',
  JWT_KEYS_DIR: 'directory of keys, instead of `JWT_PRIVATE_KEY`: files named `<name>-key-<n>.pem`',
  JWT_ACTIVE_KID: {
    default: 'from `keys.json`',
    meaning: 'kid of the active key; without `keys.json` the only key',
  },
  JWT_VERIFY_ONLY_KIDS: 'kids of keys that are not published but still verify refresh tokens',
  ACCESS_TOKEN_TTL_SECONDS: 'lifetime of access tokens',
  ACCESS_TOKEN_TYP: '`typ` of access tokens; see [standard clients](../identity/clients.md)',
  TOKEN_ENDPOINT_REFRESH:
    '`/token` also accepts `grant_type=refresh_token`, for [standard OAuth clients](../identity/clients.md)',
  REFRESH_TOKEN_IDLE_TTL_SECONDS: 'lifetime of a refresh token; each rotation starts a new one',
  REFRESH_TOKEN_ABSOLUTE_TTL_SECONDS: 'absolute lifetime of a session; never extended',
  REFRESH_REUSE_LEEWAY_SECONDS:
    'see [a used refresh token](../identity/choices.md) (A-36); `0` disables the leeway',
  SESSIONS_VALID_AFTER:
    'ISO 8601 time; sessions and tokens from before are invalid (for a leaked key or a restore)',
  BCRYPT_COST: 'at least 10 in production; after an increase, hashes are upgraded at the next sign-in',
  PASSWORD_MIN_LENGTH: 'in code points; 15 is recommended',
  PASSWORD_BLOCKLIST: 'refuses common passwords; can be `off` with `NODE_ENV=test` only',
  HASH_CONCURRENCY: { default: 'cores, below `UV_THREADPOOL_SIZE`', meaning: 'parallel bcrypt jobs' },
  UV_THREADPOOL_SIZE: "size of libuv's thread pool, set before the process starts; cores + 2 is recommended",
  HASH_QUEUE_MAX:
    'bcrypt jobs that wait; addresses and accounts are served round robin; beyond it, 503 with `Retry-After`',
  HASH_QUEUE_TIMEOUT_MS: 'how long a bcrypt job waits; then 503 with `Retry-After`',
  SIGN_IN_LIMITS: 'limits on failed sign-ins and on attempts to change a password',
  SIGN_IN_PAIR_LIMIT:
    'failures in a window for one e-mail from one address; also attempts to change the password of one identity',
  SIGN_IN_IP_LIMIT: 'failures in a window from one address',
  SIGN_IN_WINDOW_SECONDS: 'length of a window',
  SIGN_IN_EMAIL_LIMIT: 'consecutive failures for one e-mail, for addresses without a recent sign-in',
  RATE_LIMIT_TOKENS_PER_MINUTE:
    'sign-ins, refreshes, and code exchanges of each application, that an identity completes on a replica; `0` disables the limit',
  RATE_LIMIT_READS_PER_MINUTE: 'requests to `/userinfo` per identity and replica; `0` disables the limit',
  JANITOR_INTERVAL_SECONDS: 'interval of the cleanup job; `0` disables it',
  AUDIT_RETENTION_DAYS: 'retention of audit events: `0` (forever) or at least 30',
  HOSTED_SIGN_IN:
    'applications sign people in with OpenID Connect and the pages of this service: [sign-in](../identity/sign-in.md); `off`: its paths are 404',
  BRAND_NAME: 'the name on the pages of sign-in',
  BRAND_COLOR: 'the color of buttons and links on the pages; its contrast to white must be at least 4.5:1',
  BRAND_LOGO:
    'an SVG, PNG or WebP file of at most 64 KiB; without it, the pages show the first letter of the name',
  BRAND_CLIENT_LOGOS: 'a folder of logos of applications, named by client id, such as `3f6c….svg`',
  BRAND_MESSAGES:
    'a folder of texts by language, such as `de.json`: [sign-in pages](../identity/sign-in-pages.md)',
} satisfies VariableReference<keyof typeof environmentSchema.shape>;
