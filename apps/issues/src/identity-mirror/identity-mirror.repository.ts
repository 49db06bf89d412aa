import { type AccessTokenClaims, normalEmail } from '@tessera/contracts';
import type { Database } from '../database.ts';
import { Prisma } from '../generated/prisma/client.ts';
import type { Observation } from './identity-client.ts';
import {
  type KnownIdentity,
  type MirroredCaller,
  type MirroredIdentity,
  type MirrorSource,
  seenOrderOf,
} from './mirrored-identity.ts';
import { listStatement, rankedStatement } from './people-list.sql.ts';
import type { PeopleFilter, RankedPlace } from './people-list.ts';
import { personWords } from './person-words.ts';

/** The rows of the mirror. Each statement that writes compares the times, so a stale write never replaces a newer row. */
export class IdentityMirrorRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(id: string): Promise<MirroredIdentity | undefined> {
    const rows = await this.#database.$queryRaw<MirroredIdentity[]>`
      SELECT ${columns} FROM identity_mirror m WHERE id = ${id}::uuid`;
    return rows[0];
  }

  async findCaller(id: string): Promise<MirroredCaller | undefined> {
    const rows = await this.#database.$queryRaw<MirroredCaller[]>`
      SELECT ${columns}, coalesce(e.session_epoch, 0) AS "sessionEpoch"
        FROM identity_mirror m LEFT JOIN session_ends e ON e.identity_id = m.id WHERE m.id = ${id}::uuid`;
    return rows[0];
  }

  /**
   * The active rows with an e-mail or an SSO pair, the latest confirmed first. There can be several, because an e-mail
   * and an SSO pair can pass from a deleted identity to another.
   */
  async findActive(
    by: { email: string } | { ssoProvider: string; ssoId: string },
  ): Promise<MirroredIdentity[]> {
    const matches =
      'email' in by
        ? Prisma.sql`lower(email) = lower(${normalEmail(by.email) ?? by.email})`
        : Prisma.sql`sso_provider = ${by.ssoProvider} AND sso_id = ${by.ssoId}`;
    return this.#database.$queryRaw<MirroredIdentity[]>`
      SELECT ${columns} FROM identity_mirror m WHERE ${matches} AND is_active
       ORDER BY greatest(as_of, checked_at) DESC LIMIT 5`;
  }

  async list(
    filter: PeopleFilter,
    page: { after: string | undefined; limit: number },
  ): Promise<MirroredIdentity[]> {
    return this.#database.$queryRaw<MirroredIdentity[]>(listStatement(columns, filter, page));
  }

  async listRanked(
    filter: PeopleFilter,
    page: { after: RankedPlace | undefined; limit: number },
  ): Promise<(MirroredIdentity & RankedPlace)[]> {
    return this.#database.$queryRaw<(MirroredIdentity & RankedPlace)[]>(
      rankedStatement(columns, filter, page),
    );
  }

  /**
   * Writes a response of identity, unless the row is newer. A response is newer if its request was sent after the row
   * was last confirmed. For concurrent requests, the later `updated_at` is newer. A row that is marked missing has no
   * comparable `updated_at`, so a response to a concurrent request does not restore it.
   */
  async upsert(
    identity: KnownIdentity & { updatedAt: Date },
    source: Exclude<MirrorSource, 'token'>,
    observation: Observation,
  ): Promise<void> {
    await this.#database.$executeRaw(upsertOf([identity], source, observation, Prisma.sql`true`));
  }

  /**
   * Writes the identities of a list whose row differs, is of an earlier change, or was last confirmed more than half a day
   * ago. Returns the ids of the written rows. Equal values of a later change are written as well, because an overlapping
   * request may have read the values in between.
   */
  async upsertChanged(
    identities: readonly (KnownIdentity & { updatedAt: Date })[],
    observation: Observation,
  ): Promise<string[]> {
    if (identities.length === 0) return [];
    const isChanged = Prisma.sql`NOT EXISTS (
      SELECT FROM identity_mirror m
       WHERE m.id = i.id AND m.missing_since IS NULL AND m.as_of >= i.as_of
         AND m.checked_at > ${observation.answeredAt}::timestamptz - interval '12 hours'
         AND (m.username, m.display_name, m.email, m.sso_provider, m.sso_id, m.is_active, m.is_verified, m.is_staff,
              m.is_superuser) IS NOT DISTINCT FROM
             (i.username, i.display_name, i.email, i.sso_provider, i.sso_id, i.is_active, i.is_verified, i.is_staff,
              i.is_superuser))`;
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      ${upsertOf(identities, 'lookup', observation, isChanged)} RETURNING m.id`;
    return rows.map(({ id }) => id);
  }

  /**
   * Writes the claims of a token if they differ from the row and are newer, so an old token never reverts a later
   * change. Does not write `is_active` and the SSO pair, which are not in the claims.
   */
  async upsertClaims(claims: AccessTokenClaims): Promise<void> {
    const issuedAt = new Date(claims.iat * 1000);
    const { words, staffWords } = personWords({ ...claims, displayName: null });
    await this.#database.$executeRaw`
      INSERT INTO identity_mirror AS m (id, username, email, is_verified, is_staff, is_superuser, as_of, source,
                                        seen_order, words, staff_words)
      VALUES (${claims.sub}::uuid, ${claims.username}, ${claims.email}, ${claims.is_verified}, ${claims.is_staff},
              ${claims.is_superuser}, ${issuedAt}::timestamptz, 'token', ${seenOrderOf(Date.now())},
              ${words}::tsvector, ${staffWords}::tsvector)
      ON CONFLICT (id) DO UPDATE SET
        username = excluded.username, email = excluded.email, is_verified = excluded.is_verified,
        is_staff = excluded.is_staff, is_superuser = excluded.is_superuser, as_of = excluded.as_of, source = 'token',
        words = ${withDisplayName('words')}, staff_words = ${withDisplayName('staff_words')}
      WHERE greatest(m.as_of, m.checked_at) < excluded.as_of AND m.is_active
        AND (m.username, m.email, m.is_verified, m.is_staff, m.is_superuser) IS DISTINCT FROM
            (excluded.username, excluded.email, excluded.is_verified, excluded.is_staff, excluded.is_superuser)`;
  }

  /** Records that an identity used this service. Searches are sorted by this value. */
  async recordSeen(id: string, seenOrder: number): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE identity_mirror SET seen_order = ${seenOrder} WHERE id = ${id}::uuid AND seen_order > ${seenOrder}`;
  }

  /**
   * Marks an identity as inactive that the identity service does not know. The row is kept because issues reference it.
   */
  async markMissing(id: string, { answeredAt }: Observation): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE identity_mirror
         SET is_active = false, missing_since = coalesce(missing_since, ${answeredAt}::timestamptz),
             checked_at = greatest(checked_at, ${answeredAt}::timestamptz), source = 'lookup'
       WHERE id = ${id}::uuid`;
  }

  /** Marks identities as missing, as `markMissing` does. Returns the ids of the rows that were not yet marked. */
  async markAllMissing(ids: readonly string[], { answeredAt }: Observation): Promise<string[]> {
    if (ids.length === 0) return [];
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      UPDATE identity_mirror m
         SET is_active = false, missing_since = ${answeredAt}::timestamptz,
             checked_at = greatest(m.checked_at, ${answeredAt}::timestamptz), source = 'lookup'
        FROM (SELECT id FROM identity_mirror WHERE id = ANY (${[...ids]}::uuid[]) AND missing_since IS NULL
               ORDER BY id FOR UPDATE) missing
       WHERE m.id = missing.id RETURNING m.id`;
    return rows.map(({ id }) => id);
  }
}

// A token has no display name: the words of the known one stay.
function withDisplayName(column: 'words' | 'staff_words'): Prisma.Sql {
  return Prisma.raw(`coalesce(ts_filter(m.${column}, '{b}'), '') || excluded.${column}`);
}

function upsertOf(
  identities: readonly (KnownIdentity & { updatedAt: Date })[],
  source: MirrorSource,
  { askedAt, answeredAt }: Observation,
  condition: Prisma.Sql,
): Prisma.Sql {
  return Prisma.sql`
    INSERT INTO identity_mirror AS m (id, username, display_name, email, sso_provider, sso_id, is_active, is_verified,
                                      is_staff, is_superuser, as_of, source, checked_at, missing_since, words,
                                      staff_words)
    SELECT i.id, i.username, i.display_name, i.email, i.sso_provider, i.sso_id, i.is_active, i.is_verified, i.is_staff,
           i.is_superuser, i.as_of, ${source}, ${answeredAt}::timestamptz, NULL,
           i.words, i.staff_words
      FROM (SELECT r.id, r.username, r."displayName" AS display_name, r.email, r."ssoProvider" AS sso_provider,
                   r."ssoId" AS sso_id, r."isActive" AS is_active, r."isVerified" AS is_verified,
                   r."isStaff" AS is_staff, r."isSuperuser" AS is_superuser, r."updatedAt" AS as_of,
                   r.words::tsvector AS words, r."staffWords"::tsvector AS staff_words
              FROM jsonb_to_recordset(${JSON.stringify(identities.map((identity) => ({ ...identity, ...personWords(identity) })))}::jsonb) AS r (
                   id uuid, username text, "displayName" text, email text, "ssoProvider" text, "ssoId" text,
                   "isActive" boolean, "isVerified" boolean, "isStaff" boolean, "isSuperuser" boolean,
                   "updatedAt" timestamptz, words text, "staffWords" text)) i
     WHERE ${condition} ORDER BY i.id
    ON CONFLICT (id) DO UPDATE SET
      username = excluded.username, display_name = excluded.display_name, email = excluded.email,
      sso_provider = excluded.sso_provider, sso_id = excluded.sso_id, is_active = excluded.is_active,
      is_verified = excluded.is_verified, is_staff = excluded.is_staff, is_superuser = excluded.is_superuser,
      as_of = excluded.as_of, source = excluded.source, checked_at = greatest(m.checked_at, excluded.checked_at),
      missing_since = NULL, words = excluded.words, staff_words = excluded.staff_words
    WHERE ${askedAt}::timestamptz > greatest(m.as_of, m.checked_at)
       OR (m.missing_since IS NULL AND excluded.as_of >= m.as_of)`;
}

// The columns of the row `m`.
const columns = Prisma.sql`m.id, m.username, m.display_name AS "displayName", m.email, m.sso_provider AS "ssoProvider",
  m.sso_id AS "ssoId", m.is_active AS "isActive", m.is_verified AS "isVerified", m.is_staff AS "isStaff",
  m.is_superuser AS "isSuperuser", m.as_of AS "asOf", m.checked_at AS "checkedAt", m.missing_since AS "missingSince",
  m.seen_order AS "seenOrder"`;
