import { createTokenVerifier, localKeySource } from '@tessera/jwt-verify';
import {
  CleanupJob,
  EventFeed,
  Health,
  type Logger,
  Metrics,
  observeEventFeed,
  type PreparedDocument,
  prepareDocument,
  readinessTimeoutMs,
  type Tracing,
  WordRewriter,
} from '@tessera/service-kit';
import { AuditRepository } from './audit/audit.repository.ts';
import { AuditService } from './audit/audit.service.ts';
import { CleanupRepository } from './cleanup/cleanup.repository.ts';
import { cleanupTasks } from './cleanup/cleanup-tasks.ts';
import type { Config } from './config.ts';
import { createDatabase, type Database } from './database.ts';
import { discoveryDocument } from './discovery/discovery-document.ts';
import { IdentityRepository, identityWordTable } from './identities/identity.repository.ts';
import { IdentityService } from './identities/identity.service.ts';
import {
  cleanupDeletions,
  hashQueueObserver,
  observeHashQueue,
  observeKeyAge,
  observeSessions,
  refreshOutcomes,
  signInOutcomes,
} from './identity-metrics.ts';
import { IntrospectionRepository } from './introspection/introspection.repository.ts';
import { IntrospectionService } from './introspection/introspection.service.ts';
import { readDeletedKids, readKeyStates, readPrivateKeys } from './keys/key-files.ts';
import { jwksMaxAgeSeconds } from './keys/key-schedule.ts';
import { loadSigningKeys, type SigningKeys } from './keys/signing-keys.ts';
import { createSignIn } from './oidc/create-sign-in.ts';
import { readClientAccessToken } from './oidc/own-jwt.ts';
import { HashQueue } from './passwords/hash-queue.ts';
import { loadBlocklist } from './passwords/password-blocklist.ts';
import { PasswordChangeRepository } from './passwords/password-change.repository.ts';
import { PasswordChangeService } from './passwords/password-change.service.ts';
import { PasswordHasher } from './passwords/password-hasher.ts';
import { PasswordPolicy } from './passwords/password-policy.ts';
import { IdentityQuota } from './rate-limit/identity-quota.ts';
import { SessionRepository } from './sessions/session.repository.ts';
import { SessionService } from './sessions/session.service.ts';
import { SignInRepository } from './sign-in/sign-in.repository.ts';
import { SignInService } from './sign-in/sign-in.service.ts';
import { SignInLimits } from './sign-in/sign-in-limits.ts';
import { RefreshTokenRepository } from './tokens/refresh-token.repository.ts';
import { TokenService } from './tokens/token.service.ts';
import { TokenIssuer } from './tokens/token-issuer.ts';
import { UserInfoRepository } from './userinfo/userinfo.repository.ts';
import { UserInfoService } from './userinfo/userinfo.service.ts';

export type Dependencies = Awaited<ReturnType<typeof createDependencies>>;

/** The composition root: creates and wires every service, repository and shared resource. */
export async function createDependencies(config: Config, logger: Logger, tracing?: Tracing) {
  const keys = await loadSigningKeys(readPrivateKeys(config.keys, logger), readKeyStates(config.keys));
  logger.info({ active: keys.active.kid, thumbprints: keys.thumbprints }, 'signing keys loaded');
  const { database, pool, readiness, close } = createDatabase(config.database, logger);
  const metrics = new Metrics('identity');
  metrics.observePool('main', pool);
  tracing?.tracePool(pool);
  observeKeyAge(metrics, keys);
  const hasher = createHasher(config, metrics);
  const passwordPolicy = new PasswordPolicy({
    minLength: config.passwords.minLength,
    blocklist: config.passwords.blocklist ? await loadBlocklist() : null,
  });
  const passwordChanges = new PasswordChangeService({
    repository: new PasswordChangeRepository(database),
    hasher,
    passwordPolicy,
    limits: config.signInLimits,
  });
  const { intervalSeconds, ...retention } = config.cleanup;
  const tasks = cleanupTasks(new CleanupRepository(database), {
    ...retention,
    hostedSignIn: config.hostedSignIn,
  });
  const cleanup = new CleanupJob({ tasks, intervalSeconds, logger, onDeleted: cleanupDeletions(metrics) });
  cleanup.start();
  const words = new WordRewriter({ pool, tables: [identityWordTable], logger });
  words.start();
  const events = new EventFeed(pool, { standbys: config.eventStandbys });
  observeEventFeed(metrics, events);

  const tokenServices = createTokenServices(config, {
    keys,
    database,
    hasher,
    passwordChanges,
    logger,
    metrics,
  });
  const signIn = config.hostedSignIn
    ? await createSignIn(config, { keys, database, logger, metrics, ...tokenServices })
    : undefined;

  return {
    config,
    logger,
    metrics,
    database,
    events,
    cleanup,
    close: async () => {
      await Promise.all([cleanup.stop(), words.stop(), signIn?.close()]);
      await close();
    },
    documents: createDocuments(config.issuer, keys),
    deletedKeys: readDeletedKids(config.keys),
    health: new Health({ checks: readiness, timeoutMs: readinessTimeoutMs(config.database), logger }),
    ...tokenServices,
    identities: new IdentityService({
      repository: new IdentityRepository(database),
      hasher,
      passwordPolicy,
    }),
    passwordChanges,
    /** The sign-in for applications; undefined if it is off. */
    signIn,
    audit: new AuditService({ repository: new AuditRepository(database) }),
  };
}

function createHasher({ passwords }: Config, metrics: Metrics): PasswordHasher {
  const queue = new HashQueue({
    concurrency: passwords.hashConcurrency,
    maxWaiting: passwords.hashQueueMax,
    timeoutMs: passwords.hashQueueTimeoutMs,
    observer: hashQueueObserver(metrics),
  });
  observeHashQueue(metrics, queue);
  return new PasswordHasher(passwords.bcryptCost, queue);
}

interface TokenServiceParts {
  keys: SigningKeys;
  database: Database;
  hasher: PasswordHasher;
  passwordChanges: PasswordChangeService;
  logger: Logger;
  metrics: Metrics;
}

// The services that issue, verify or revoke tokens.
function createTokenServices(config: Config, parts: TokenServiceParts) {
  const { keys, database, hasher, passwordChanges, logger, metrics } = parts;
  const sessions = new SessionRepository(database);
  observeSessions(metrics, () => sessions.count());
  const { accessTtlSeconds, accessTyp, sessionsValidAfter } = config.tokens;
  const { tokensPerMinute, readsPerMinute } = config.rateLimits;
  const { issuer: iss, audience } = config;
  const issuer = new TokenIssuer({ key: keys.active, issuer: iss, audience, accessTtlSeconds, accessTyp });
  const verifiers = createVerifiers(config, keys);
  return {
    issuer,
    accessVerifier: verifiers.accessVerifier,
    signIns: new SignInService({
      ...config.tokens,
      repository: new SignInRepository(database),
      quota: new IdentityQuota('sign-ins', tokensPerMinute),
      limits: new SignInLimits({ ...config.signInLimits, secret: config.serviceTokens.current }),
      hasher,
      passwordChanges,
      issuer,
      logger,
      outcomes: signInOutcomes(metrics),
    }),
    tokens: new TokenService({
      ...config.tokens,
      ...verifiers,
      repository: new RefreshTokenRepository(database),
      quota: new IdentityQuota('refreshes', tokensPerMinute),
      issuer,
      outcomes: refreshOutcomes(metrics),
    }),
    sessions: new SessionService({ repository: sessions, sessionsValidAfter }),
    introspection: new IntrospectionService({
      ...verifiers,
      repository: new IntrospectionRepository(database),
      sessionsValidAfter,
    }),
    reads: new IdentityQuota('reads', readsPerMinute),
    userInfo: new UserInfoService({ repository: new UserInfoRepository(database), sessionsValidAfter }),
  };
}

// The service issues and verifies with the same clock, so no clock skew is tolerated.
function createVerifiers({ issuer, audience }: Config, keys: SigningKeys) {
  const own = { issuer, clockToleranceSeconds: 0 };
  return {
    accessVerifier: createTokenVerifier({
      ...own,
      kind: 'access',
      audience,
      keys: localKeySource(keys.published),
    }),
    readClientToken: (token: string) =>
      readClientAccessToken(token, { issuer, keys: keys.published, realm: 'identity' }),
    refreshVerifier: createTokenVerifier({
      ...own,
      kind: 'refresh',
      audience: issuer,
      keys: localKeySource(keys.accepted),
      // Each refresh token is used once, so a cached signature would never be read.
      signatureCacheSize: 0,
    }),
  };
}

function createDocuments(
  issuer: string,
  keys: SigningKeys,
): { discovery: PreparedDocument; jwks: PreparedDocument } {
  const headers = {
    'Cache-Control': `public, max-age=${jwksMaxAgeSeconds}, stale-while-revalidate=60, stale-if-error=86400`,
    'Access-Control-Allow-Origin': '*',
  };
  return {
    discovery: prepareDocument(discoveryDocument(issuer), headers),
    jwks: prepareDocument(keys.jwkSet, headers),
  };
}
