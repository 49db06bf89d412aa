import type { Adapter, AdapterFactory, AdapterPayload } from 'oidc-provider';
import { Pool } from 'pg';

/** An account whose claims `/me` and ID tokens contain. */
export interface OidcAccount {
  id: string;
  email: string;
  name: string;
}

/** The storage of oidc-provider's tokens and of the accounts. */
export interface OidcStorage {
  adapter: AdapterFactory;
  addAccounts: (accounts: OidcAccount[]) => Promise<void>;
  findAccount: (id: string) => Promise<OidcAccount | undefined>;
  close: () => Promise<void>;
}

/**
 * Stores entries in unlimited maps. The provider's memory adapter keeps only the last thousand entries, and searches a
 * grant's tokens for each new token. This adapter loses no entries and does less work.
 */
export function openMemoryStorage(): OidcStorage {
  const accounts = new Map<string, OidcAccount>();
  return {
    adapter: () => new MemoryAdapter(),
    addAccounts: async (added) => {
      for (const account of added) accounts.set(account.id, account);
    },
    findAccount: async (id) => accounts.get(id),
    close: async () => {},
  };
}

// oidc-provider creates one for each kind of model.
class MemoryAdapter implements Adapter {
  readonly #payloads = new Map<string, AdapterPayload>();
  readonly #idsByGrant = new Map<string, Set<string>>();

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    this.#payloads.set(id, payload);
    const { grantId } = payload;
    if (grantId === undefined) return;
    const ids = this.#idsByGrant.get(grantId);
    if (ids === undefined) this.#idsByGrant.set(grantId, new Set([id]));
    else ids.add(id);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#payloads.get(id);
  }

  // Sessions and device codes have no part in the rows, so these two need not be fast.
  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...this.#payloads.values()].find((payload) => payload.uid === uid);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return [...this.#payloads.values()].find((payload) => payload.userCode === userCode);
  }

  async consume(id: string): Promise<void> {
    const payload = this.#payloads.get(id);
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id: string): Promise<void> {
    this.#payloads.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const id of this.#idsByGrant.get(grantId) ?? []) this.#payloads.delete(id);
    this.#idsByGrant.delete(grantId);
  }
}

const schema = `
  CREATE TABLE oidc_payloads (
    id text NOT NULL,
    type text NOT NULL,
    payload jsonb NOT NULL,
    grant_id text,
    user_code text,
    uid text,
    expires_at timestamptz,
    consumed_at timestamptz,
    PRIMARY KEY (id, type)
  );
  CREATE INDEX ON oidc_payloads (grant_id) WHERE grant_id IS NOT NULL;
  CREATE INDEX ON oidc_payloads (user_code) WHERE user_code IS NOT NULL;
  CREATE INDEX ON oidc_payloads (uid) WHERE uid IS NOT NULL;
  CREATE TABLE accounts (id text PRIMARY KEY, email text NOT NULL UNIQUE, name text NOT NULL);
`;

/** One table for every model, as in the adapters that oidc-provider publishes, with named prepared statements. */
export async function openPostgresStorage(connectionString: string): Promise<OidcStorage> {
  const pool = new Pool({ connectionString, max: 10 });
  await pool.query(schema);
  return {
    adapter: (type) => new PostgresAdapter(pool, type),
    addAccounts: async (accounts) => {
      await pool.query(
        'INSERT INTO accounts (id, email, name) SELECT * FROM unnest($1::text[], $2::text[], $3::text[])',
        [accounts.map(({ id }) => id), accounts.map(({ email }) => email), accounts.map(({ name }) => name)],
      );
    },
    findAccount: async (id) => {
      const { rows } = await pool.query<OidcAccount>({
        name: 'account',
        text: 'SELECT id, email, name FROM accounts WHERE id = $1',
        values: [id],
      });
      return rows[0];
    },
    close: () => pool.end(),
  };
}

interface PayloadRow {
  payload: AdapterPayload;
  consumed: boolean;
}

class PostgresAdapter implements Adapter {
  readonly #pool: Pool;
  readonly #type: string;

  constructor(pool: Pool, type: string) {
    this.#pool = pool;
    this.#type = type;
  }

  async upsert(id: string, payload: AdapterPayload, expiresIn?: number): Promise<void> {
    const { grantId = null, userCode = null, uid = null } = payload;
    const expiresAt = expiresIn === undefined ? null : new Date(Date.now() + expiresIn * 1000);
    await this.#pool.query({
      name: 'upsert',
      text: `INSERT INTO oidc_payloads (id, type, payload, grant_id, user_code, uid, expires_at)
        VALUES ($1, $2, $3, $4, $5, $6, $7)
        ON CONFLICT (id, type) DO UPDATE SET payload = excluded.payload, grant_id = excluded.grant_id,
          user_code = excluded.user_code, uid = excluded.uid, expires_at = excluded.expires_at`,
      values: [id, this.#type, JSON.stringify(payload), grantId, userCode, uid, expiresAt],
    });
  }

  find(id: string): Promise<AdapterPayload | undefined> {
    return this.#findBy('id', id);
  }

  findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return this.#findBy('uid', uid);
  }

  findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return this.#findBy('user_code', userCode);
  }

  consume(id: string): Promise<void> {
    return this.#run(
      'consume',
      'UPDATE oidc_payloads SET consumed_at = now() WHERE id = $1 AND type = $2',
      id,
    );
  }

  destroy(id: string): Promise<void> {
    return this.#run('destroy', 'DELETE FROM oidc_payloads WHERE id = $1 AND type = $2', id);
  }

  revokeByGrantId(grantId: string): Promise<void> {
    return this.#run('revoke', 'DELETE FROM oidc_payloads WHERE grant_id = $1 AND type = $2', grantId);
  }

  async #run(name: string, text: string, id: string): Promise<void> {
    await this.#pool.query({ name, text, values: [id, this.#type] });
  }

  async #findBy(column: 'id' | 'uid' | 'user_code', value: string): Promise<AdapterPayload | undefined> {
    const { rows } = await this.#pool.query<PayloadRow>({
      name: `find-by-${column}`,
      text: `SELECT payload, consumed_at IS NOT NULL AS consumed FROM oidc_payloads
        WHERE ${column} = $1 AND type = $2 AND (expires_at IS NULL OR expires_at > now())`,
      values: [value, this.#type],
    });
    const [row] = rows;
    if (row === undefined) return undefined;
    return row.consumed ? { ...row.payload, consumed: true } : row.payload;
  }
}
