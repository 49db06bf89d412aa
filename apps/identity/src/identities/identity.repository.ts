import { canonicalEmail } from '@tessera/contracts';
import { prefixQuery, violatedUniqueIndex, type WordTable, wordVector } from '@tessera/service-kit';
import { type AuditEvent, toAuditRow } from '../audit/audit-event.ts';
import type { Database } from '../database.ts';
import type { Identity as IdentityRow, Prisma } from '../generated/prisma/client.ts';
import type { Identity, IdentityChanges } from './identity.ts';

/** The unique constraint that a write violated. */
export type IdentityConflict = 'email' | 'sso';

/** Changes to store, with a password hash in place of the password. */
export type StoredChanges = Omit<IdentityChanges, 'password' | 'isPasswordTemporary'> & {
  passwordHash?: string | undefined;
  passwordExpiresAt?: Date | null | undefined;
};

/** A page of a list by id. `search`: words, each a prefix of a word of the username, the display name or the e-mail. */
export interface IdentityPage {
  limit: number;
  after: string | undefined;
  ids?: readonly string[] | undefined;
  search?: string | undefined;
}

const conflictsByIndex: Record<string, IdentityConflict> = {
  identities_live_email_key: 'email',
  identities_live_sso_key: 'sso',
};

interface Names {
  username: string;
  displayName?: string | null | undefined;
  email: string;
}

/** The words by which an identity is found: a literal of `tsvector`. */
function identityWords({ username, displayName, email }: Names): string {
  return wordVector({ text: username }, { text: displayName ?? '' }, { text: email });
}

/** The identities whose words are not stored yet. */
export const identityWordTable: WordTable<Names & { id: string }> = {
  name: 'identities',
  select: `SELECT id, username, display_name AS "displayName", email FROM identities
    WHERE id > $1 ORDER BY id LIMIT $2 FOR NO KEY UPDATE`,
  wordsOf: (names) => ({ words: identityWords(names) }),
  update: `UPDATE identities i SET search_words = r.words
    FROM jsonb_to_recordset($1::jsonb) AS r (id uuid, words text) WHERE i.id = r.id`,
};

/** Stores identities. No method returns or changes a soft-deleted identity (docs/spec/identity-service.md 3.1). */
export class IdentityRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Inserts an identity, or returns the conflict. The unique indexes decide between parallel creates. Without a username,
   * the identity gets `wantedUsername`, with a number if another identity has that one.
   */
  async create(
    identity: StoredChanges & { email: string; wantedUsername: string },
    audit: (created: Identity) => AuditEvent,
  ): Promise<Identity | IdentityConflict> {
    return catchConflict(() =>
      this.#database.models.$transaction(async (transaction) => {
        const username = identity.username ?? (await freeUsername(transaction, identity.wantedUsername));
        const row = await transaction.identity.create({
          data: {
            ...toColumns(identity),
            email: identity.email,
            emailCanonical: canonicalEmail(identity.email),
            username,
            searchWords: identityWords({ ...identity, username }),
          },
        });
        const created = toIdentity(row);
        await transaction.auditEvent.create({ data: toAuditRow(audit(created)) });
        return created;
      }),
    );
  }

  /**
   * Updates the supplied fields. Returns undefined if the identity does not exist. `endSessions` increments the session
   * epoch, which ends every session without an update of its token rows.
   */
  async update(
    id: string,
    changes: StoredChanges,
    { endSessions, audit }: { endSessions: boolean; audit: AuditEvent[] },
  ): Promise<Identity | IdentityConflict | undefined> {
    const now = new Date();
    return catchConflict(() =>
      this.#database.models.$transaction(async (transaction) => {
        const [row] = await transaction.identity.updateManyAndReturn({
          where: { id, deletedAt: null },
          data: {
            ...toColumns(changes),
            updatedAt: now,
            ...(endSessions ? { sessionEpoch: { increment: 1 } } : {}),
          },
        });
        if (row === undefined) return undefined;
        const { username, displayName, email } = changes;
        if (username !== undefined || displayName !== undefined || email !== undefined)
          await transaction.identity.update({ where: { id }, data: { searchWords: identityWords(row) } });
        await transaction.auditEvent.createMany({ data: audit.map(toAuditRow) });
        return toIdentity(row);
      }),
    );
  }

  /** Returns false if the identity does not exist or is already deleted. */
  async softDelete(id: string, audit: AuditEvent): Promise<boolean> {
    const now = new Date();
    return this.#database.models.$transaction(async (transaction) => {
      const { count } = await transaction.identity.updateMany({
        where: { id, deletedAt: null },
        data: {
          deletedAt: now,
          isActive: false,
          updatedAt: now,
          sessionEpoch: { increment: 1 },
        },
      });
      if (count > 0) await transaction.auditEvent.create({ data: toAuditRow(audit) });
      return count > 0;
    });
  }

  async list(page: IdentityPage): Promise<Identity[]> {
    const { limit, after, search } = page;
    const position = after === undefined ? {} : { gt: after };
    const ids = search === undefined ? page.ids : await this.#findIds(search, page);
    const matching = ids === undefined ? {} : { in: [...ids] };
    const rows = await this.#database.models.identity.findMany({
      where: { deletedAt: null, id: { ...position, ...matching } },
      orderBy: { id: 'asc' },
      take: limit,
    });
    return rows.map(toIdentity);
  }

  // Finds all matches by the index before it sorts them; otherwise PostgreSQL might compute the words of each identity.
  async #findIds(search: string, { after, ids, limit }: IdentityPage): Promise<string[]> {
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      WITH found AS MATERIALIZED (
        SELECT id FROM identities
         WHERE deleted_at IS NULL AND (search_words::tsvector @@ ${prefixQuery(search)}::tsquery
            -- Rows of earlier releases, until they are rewritten.
            OR search_words IS NULL AND identity_words(username, display_name, email) @@ identity_query(${search}))
      )
      SELECT id FROM found
       WHERE (${after ?? null}::uuid IS NULL OR id > ${after ?? null}::uuid)
         AND (${ids ?? null}::uuid[] IS NULL OR id = ANY (${ids ?? null}::uuid[]))
       ORDER BY id LIMIT ${limit}::int`;
    return rows.map(({ id }) => id);
  }

  async findById(id: string): Promise<Identity | undefined> {
    return this.#findLive({ id });
  }

  async findByEmail(email: string): Promise<Identity | undefined> {
    return this.#findLive({ emailCanonical: canonicalEmail(email) });
  }

  async findBySso(provider: string, ssoId: string): Promise<Identity | undefined> {
    return this.#findLive({ ssoProvider: provider, ssoId });
  }

  async #findLive(where: Prisma.IdentityWhereInput): Promise<Identity | undefined> {
    const row = await this.#database.models.identity.findFirst({ where: { ...where, deletedAt: null } });
    return row === null ? undefined : toIdentity(row);
  }
}

// If two calls run concurrently, the second waits until the first transaction ends, and then sees its username.
async function freeUsername(transaction: Prisma.TransactionClient, wanted: string): Promise<string> {
  const rows = await transaction.$queryRaw<{ username: string }[]>`
    SELECT free_username(${wanted}) AS username`;
  return rows[0]?.username ?? wanted;
}

async function catchConflict<Result>(write: () => Promise<Result>): Promise<Result | IdentityConflict> {
  try {
    return await write();
  } catch (error) {
    const conflict = conflictsByIndex[violatedUniqueIndex(error) ?? ''];
    if (conflict === undefined) throw error;
    return conflict;
  }
}

// Undefined members are removed: only the remaining columns are written.
function toColumns(changes: StoredChanges) {
  return definedOnly({
    email: changes.email,
    emailCanonical: changes.email === undefined ? undefined : canonicalEmail(changes.email),
    username: changes.username,
    displayName: changes.displayName,
    passwordHash: changes.passwordHash,
    passwordExpiresAt: changes.passwordExpiresAt,
    ssoProvider: changes.sso === undefined ? undefined : (changes.sso?.provider ?? null),
    ssoId: changes.sso === undefined ? undefined : (changes.sso?.id ?? null),
    isActive: changes.isActive,
    isVerified: changes.isVerified,
    isStaff: changes.isStaff,
    isSuperuser: changes.isSuperuser,
  });
}

type Defined<Type> = { [Key in keyof Type]?: Exclude<Type[Key], undefined> };

function definedOnly<Type extends object>(value: Type): Defined<Type> {
  return Object.fromEntries(
    Object.entries(value).filter(([, member]) => member !== undefined),
  ) as Defined<Type>;
}

function toIdentity(row: IdentityRow): Identity {
  return {
    id: row.id,
    email: row.email,
    username: row.username,
    displayName: row.displayName,
    ssoProvider: row.ssoProvider,
    ssoId: row.ssoId,
    isActive: row.isActive,
    isVerified: row.isVerified,
    isStaff: row.isStaff,
    isSuperuser: row.isSuperuser,
    deletedAt: row.deletedAt,
    createdAt: row.createdAt,
    updatedAt: row.updatedAt,
  };
}
