import type { RequestOrigin } from '@tessera/service-kit';
import type { Client } from '../clients/client.ts';
import type { Database } from '../database.ts';
import type { TokenSubject } from '../tokens/token-issuer.ts';

/** Reads the identities of machines. */
export class MachineRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Returns the active identity of a machine, and records in the same statement that it gets a token. */
  async findSubject({ id, identityId }: Client, origin: RequestOrigin): Promise<TokenSubject | undefined> {
    const rows = await this.#database.$queryRaw<TokenSubject[]>`
      WITH machine AS (
        SELECT * FROM identities
         WHERE id = ${identityId}::uuid AND deleted_at IS NULL AND is_active AND password_hash IS NULL
      ), audited AS (
        INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
        SELECT 'token.issued', 'success', 'user', id, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
               jsonb_build_object('client', ${id}::text)
          FROM machine
      )
      SELECT id, email, username, is_verified AS "isVerified", is_staff AS "isStaff", is_superuser AS "isSuperuser",
             session_epoch AS "sessionEpoch"
        FROM machine`;
    return rows[0];
  }
}
