import { createTokenVerifier, localKeySource } from '@tessera/jwt-verify';
import {
  Health,
  Janitor,
  type Logger,
  Metrics,
  type PreparedDocument,
  prepareDocument,
  type Tracing,
} from '@tessera/service-kit';
import { AuditRepository } from './audit/audit.repository.ts';
import { AuditService } from './audit/audit.service.ts';
import type { Config } from './config.ts';
import { createDatabase, type Database } from './database.ts';
import { discoveryDocument } from './discovery/discovery-document.ts';
import { IdentityRepository } from './identities/identity.repository.ts';
import { IdentityService } from './identities/identity.service.ts';
import {
  hashQueueObserver,
  janitorDeletions,
  observeHashQueue,
  observeKeyAge,
  observeSessions,
  refreshOutcomes,
  signInOutcomes,
} from './identity-metrics.ts';
import { IntrospectionRepository } from './introspection/introspection.repository.ts';
import { IntrospectionService } from './introspection/introspection.service.ts';
import { JanitorRepository } from './janitor/janitor.repository.ts';
import { identitySweeps } from './janitor/sweeps.ts';
import { keyStates, readPrivateKeys } from './keys/key-files.ts';
import { jwksMaxAgeSeconds } from './keys/key-schedule.ts';
import { arrangeSigningKeys, type SigningKeys } from './keys/signing-keys.ts';
import { HashQueue } from './passwords/hash-queue.ts';
import { loadBlocklist } from './passwords/password-blocklist.ts';
import { PasswordHasher } from './passwords/password-hasher.ts';
import { PasswordPolicy } from './passwords/password-policy.ts';
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

/** The composition root: everything that holds state or a collaborator is made here, once. */
export async function createDependencies(config: Config, logger: Logger, tracing?: Tracing) {
  const keys = await arrangeSigningKeys(readPrivateKeys(config.keys, logger), keyStates(config.keys));
  logger.info({ active: keys.active.kid, thumbprints: keys.thumbprints }, 'signing keys loaded');
  const { database, pool, readiness, close } = createDatabase(config.database, logger);
  const metrics = new Metrics('identity');
  metrics.observePool('main', pool);
  tracing?.tracePool(pool);
  observeKeyAge(metrics, keys);
  const hasher = await createHasher(config, metrics);
  const { intervalSeconds, auditRetentionDays } = config.janitor;
  const sweeps = identitySweeps(new JanitorRepository(database), auditRetentionDays);
  const janitor = new Janitor({ sweeps, intervalSeconds, logger, onDeleted: janitorDeletions(metrics) });
  janitor.start();

  return {
    config,
    logger,
    metrics,
    database,
    janitor,
    close: async () => {
      await janitor.stop();
      await close();
    },
    documents: createDocuments(config.issuer, keys),
    health: new Health({ checks: readiness }),
    ...createTokens(config, { keys, database, hasher, logger, metrics }),
    identities: new IdentityService({
      repository: new IdentityRepository(database),
      hasher,
      passwordPolicy: new PasswordPolicy({
        minLength: config.passwords.minLength,
        blocklist: config.passwords.blocklist ? await loadBlocklist() : null,
      }),
    }),
    audit: new AuditService({ repository: new AuditRepository(database) }),
  };
}

function createHasher({ passwords }: Config, metrics: Metrics): Promise<PasswordHasher> {
  const queue = new HashQueue({
    concurrency: passwords.hashConcurrency,
    maxWaiting: passwords.hashQueueMax,
    timeoutMs: passwords.hashQueueTimeoutMs,
    observer: hashQueueObserver(metrics),
  });
  observeHashQueue(metrics, queue);
  return PasswordHasher.create(passwords.bcryptCost, queue);
}

interface TokenParts {
  keys: SigningKeys;
  database: Database;
  hasher: PasswordHasher;
  logger: Logger;
  metrics: Metrics;
}

// Whatever issues a token, looks at one or ends one.
function createTokens(config: Config, { keys, database, hasher, logger, metrics }: TokenParts) {
  const sessions = new SessionRepository(database);
  observeSessions(metrics, () => sessions.count());
  const { accessTtlSeconds, sessionsValidAfter } = config.tokens;
  const { issuer: iss, audience } = config;
  const issuer = new TokenIssuer({ key: keys.active, issuer: iss, audience, accessTtlSeconds });
  const verifiers = createVerifiers(config, keys);
  return {
    issuer,
    accessVerifier: verifiers.accessVerifier,
    signIns: new SignInService({
      ...config.tokens,
      repository: new SignInRepository(database),
      limits: new SignInLimits({ ...config.signInLimits, secret: config.serviceTokens[0] ?? '' }),
      hasher,
      issuer,
      logger,
      outcomes: signInOutcomes(metrics),
    }),
    tokens: new TokenService({
      ...config.tokens,
      ...verifiers,
      repository: new RefreshTokenRepository(database),
      issuer,
      outcomes: refreshOutcomes(metrics),
    }),
    sessions: new SessionService({ repository: sessions, sessionsValidAfter }),
    introspection: new IntrospectionService({
      ...verifiers,
      repository: new IntrospectionRepository(database),
      sessionsValidAfter,
    }),
    userInfo: new UserInfoService({ repository: new UserInfoRepository(database), sessionsValidAfter }),
  };
}

// The service checks its own tokens by its own clock: no tolerance.
function createVerifiers({ issuer, audience }: Config, keys: SigningKeys) {
  const own = { issuer, clockToleranceSeconds: 0 };
  return {
    accessVerifier: createTokenVerifier({
      ...own,
      kind: 'access',
      audience,
      keys: localKeySource(keys.published),
    }),
    refreshVerifier: createTokenVerifier({
      ...own,
      kind: 'refresh',
      audience: issuer,
      keys: localKeySource(keys.accepted),
      // A refresh token is presented once: remembering its signature would only fill memory.
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
