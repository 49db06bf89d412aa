import type { RequestOrigin } from '@tessera/service-kit';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { TokenSubject } from '../tokens/token-issuer.ts';
import type { CounterLifetimes, SignInCounter, SignInKeys } from './sign-in-limits.ts';

/** The identity that a sign-in attempt names. */
export interface SignInCandidate {
  id: string;
  email: string;
  username: string;
  passwordHash: string | null;
  /** Set for a temporary password. */
  temporaryPassword: 'valid' | 'expired' | null;
  isActive: boolean;
  sessionEpoch: number;
}

/** A new token family and its first refresh token. */
export interface NewFamily {
  familyId: string;
  jti: string;
  identityId: string;
  /** The epoch read together with the password hash. */
  sessionEpoch: number;
  refreshExpiresAt: Date;
  familyExpiresAt: Date;
}

/** The counters of a sign-in, and how long its address stays known. */
export interface SignInAddress {
  keys: SignInKeys;
  knownSeconds: number;
}

/** The parts of the statement that opens a session. `owner` is the identity, or no row. */
export interface Opening {
  steps: Prisma.Sql;
  /** Selects the audit event. */
  audit: Prisma.Sql;
  columns: Prisma.Sql;
}

interface AttemptRow extends Omit<SignInCandidate, 'id'> {
  id: string | null;
  counters: SignInCounter[];
}

/** Statements of a sign-in: one before the password comparison and one after it. */
export class SignInRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Reads the identity and the counters in one round trip. The statement is the same for known and unknown e-mails. */
  async findCandidate(
    canonicalEmail: string,
    keys: SignInKeys,
  ): Promise<{ candidate: SignInCandidate | null; counters: SignInCounter[] }> {
    const rows = await this.#database.$queryRaw<AttemptRow[]>`
      SELECT i.id, i.email, i.username, i.password_hash AS "passwordHash", i.is_active AS "isActive",
        i.session_epoch AS "sessionEpoch",
        CASE WHEN i.password_expires_at <= now() THEN 'expired' WHEN i.password_expires_at > now() THEN 'valid' END
          AS "temporaryPassword",
        coalesce((
          SELECT json_agg(json_build_object('key', key, 'count', count,
                   'secondsLeft', extract(epoch FROM window_ends - now())))
            FROM sign_in_counters WHERE key = ANY(${Object.values(keys)}) AND window_ends > now()
        ), '[]') AS counters
        FROM (SELECT 1) AS attempt
        LEFT JOIN identities i ON i.email_canonical = ${canonicalEmail} AND i.deleted_at IS NULL`;
    const [row] = rows;
    if (row === undefined || row.id === null) return { candidate: null, counters: row?.counters ?? [] };
    return { candidate: { ...row, id: row.id }, counters: row.counters };
  }

  /**
   * Returns the highest bcrypt cost of all stored hashes (10 in `$2b$10$…`). Scans the table, so each process calls
   * this only once.
   */
  async findHighestCost(): Promise<number> {
    const rows = await this.#database.$queryRaw<{ cost: number | null }[]>`
      SELECT max(substr(password_hash, 5, 2))::int AS cost FROM identities WHERE deleted_at IS NULL`;
    return rows[0]?.cost ?? 0;
  }

  /** Reads the counters again, for an attempt that waited in the queue or has earlier failures. */
  async findCounters(keys: SignInKeys): Promise<SignInCounter[]> {
    return this.#database.$queryRaw<SignInCounter[]>`
      SELECT key, count, extract(epoch FROM window_ends - now())::float8 AS "secondsLeft"
        FROM sign_in_counters WHERE key = ANY(${Object.values(keys)}) AND window_ends > now()`;
  }

  /**
   * Counts a failure and writes its audit event. Rows are locked in key order, so that parallel failures cannot
   * deadlock. Each failure restarts the window of the e-mail counter, which counts consecutive failures.
   */
  async recordFailure(
    keys: SignInKeys,
    lifetimes: CounterLifetimes,
    audit: { identityId: string | null; origin: RequestOrigin },
  ): Promise<void> {
    const { origin } = audit;
    await this.#database.$executeRaw`
      WITH counted AS (
        INSERT INTO sign_in_counters AS c (key, count, window_ends)
        SELECT key, 1, now() + seconds * interval '1 second'
          FROM unnest(${[keys.email, keys.ip, keys.pair]}::text[],
                      ${[lifetimes.email, lifetimes.ip, lifetimes.pair]}::int[]) AS k (key, seconds)
         ORDER BY key
        ON CONFLICT (key) DO UPDATE
          SET count = CASE WHEN c.window_ends < now() THEN 1 ELSE c.count + 1 END,
              window_ends = CASE WHEN c.window_ends < now() OR c.key LIKE 'email:%'
                                 THEN excluded.window_ends ELSE c.window_ends END
      )
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      VALUES ('token.refused', 'failure', 'user', ${audit.identityId}::uuid, ${origin.ip}, ${origin.userAgent},
              ${origin.requestId}, jsonb_build_object('email_hmac', ${keys.email}::text))`;
  }

  /** Opens a token family and issues its first refresh token. */
  async openSession(
    family: NewFamily,
    address: SignInAddress,
    origin: RequestOrigin,
  ): Promise<TokenSubject | undefined> {
    const rows = await this.open<TokenSubject>(family, address, origin, {
      steps: Prisma.sql`opened AS (
        INSERT INTO token_families (id, identity_id, session_epoch, expires_at, created_ip, user_agent)
        SELECT ${family.familyId}::uuid, id, ${family.sessionEpoch}::int, ${family.familyExpiresAt}::timestamptz,
               ${origin.ip}, ${origin.userAgent}
          FROM owner
        RETURNING id, identity_id
      ), issued AS (
        INSERT INTO refresh_tokens (jti, family_id, generation, expires_at)
        SELECT ${family.jti}::uuid, id, 1, ${family.refreshExpiresAt}::timestamptz FROM opened
      )`,
      audit: Prisma.sql`
        SELECT 'token.issued', 'success', 'user', identity_id, ${origin.ip}, ${origin.userAgent},
               ${origin.requestId}, jsonb_build_object('family', id)
          FROM opened`,
      columns: Prisma.sql`id, email, username, is_verified AS "isVerified", is_staff AS "isStaff",
             is_superuser AS "isSuperuser", session_epoch AS "sessionEpoch"`,
    });
    return rows[0];
  }

  /**
   * Opens a session in one statement: runs the steps of the opening, revokes suspect families, deletes the failure counters
   * and marks the address as known. Returns no row if the identity became inactive or its sessions ended since the password
   * was read. It compares the epoch and not the password hash, because a parallel sign-in may upgrade the hash.
   */
  async open<Row>(
    { identityId, sessionEpoch }: { identityId: string; sessionEpoch: number },
    { keys, knownSeconds }: SignInAddress,
    origin: RequestOrigin,
    opening: Opening,
  ): Promise<Row[]> {
    return this.#database.$queryRaw<Row[]>`
      WITH owner AS (
        SELECT id, email, username, is_verified, is_staff, is_superuser, session_epoch FROM identities
         WHERE id = ${identityId}::uuid AND is_active AND deleted_at IS NULL
           AND session_epoch = ${sessionEpoch}::int
      ), suspects AS (
        UPDATE token_families f SET revoked_at = now(), revoke_reason = 'suspect'
          FROM owner
         WHERE f.identity_id = owner.id AND f.suspect_at IS NOT NULL AND f.revoked_at IS NULL
        RETURNING f.id
      ), ${opening.steps}, forgotten AS (
        DELETE FROM sign_in_counters WHERE key IN (${keys.pair}, ${keys.email}) AND EXISTS (SELECT FROM owner)
      ), known AS (
        INSERT INTO sign_in_counters (key, count, window_ends)
        SELECT ${keys.known}, 1, now() + ${knownSeconds}::int * interval '1 second' FROM owner
        ON CONFLICT (key) DO UPDATE SET window_ends = excluded.window_ends
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        ${opening.audit}
        UNION ALL
        SELECT 'family.revoked', 'success', 'system', owner.id, ${origin.ip}, ${origin.userAgent},
               ${origin.requestId}, jsonb_build_object('family', suspects.id, 'reason', 'suspect')
          FROM suspects, owner
      )
      SELECT ${opening.columns} FROM owner`;
  }

  /** Replaces the hash, unless the password has changed since it was read. */
  async upgradeHash(
    identityId: string,
    oldHash: string,
    newHash: string,
    origin: RequestOrigin,
  ): Promise<void> {
    await this.#database.$executeRaw`
      WITH upgraded AS (
        UPDATE identities SET password_hash = ${newHash}
         WHERE id = ${identityId}::uuid AND password_hash = ${oldHash}
        RETURNING id
      )
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id)
      SELECT 'hash.upgraded', 'success', 'system', id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId}
        FROM upgraded`;
  }
}
