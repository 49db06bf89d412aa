import type { RequestOrigin } from '@tessera/service-kit';
import { type AuditEvent, toAuditRow } from '../audit/audit-event.ts';
import type { Database } from '../database.ts';
import { type OauthClient, Prisma } from '../generated/prisma/client.ts';
import { type Client, type ClientSettings, type RedirectRefusal, storedClientSchema } from './client.ts';

type Change = Partial<ClientSettings & Pick<Client, 'secretHash' | 'disabledAt'>> &
  Partial<Pick<Client, 'previousSecretHash' | 'previousSecretExpiresAt'>>;

/** Stores clients. They are never deleted. */
export class ClientRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async create(
    client: ClientSettings & Pick<Client, 'kind' | 'secretHash'> & { id?: string | undefined },
    audit: (id: string) => AuditEvent,
  ): Promise<Client> {
    const { id, kind, name, ...settings } = client;
    return this.#database.models.$transaction(async (transaction) => {
      const row = await transaction.oauthClient.create({
        data: { ...(id === undefined ? {} : { id }), kind, name, ...toColumns(settings) },
      });
      await transaction.auditEvent.create({ data: toAuditRow(audit(row.id)) });
      return toClient(row);
    });
  }

  /** Changes a client that is not disabled; returns undefined for any other. */
  async update(id: string, change: Change, audit: AuditEvent): Promise<Client | undefined> {
    return this.#database.models.$transaction(async (transaction) => {
      const [row] = await transaction.oauthClient.updateManyAndReturn({
        where: { id, disabledAt: null },
        data: toColumns(change),
      });
      if (row === undefined) return undefined;
      await transaction.auditEvent.create({ data: toAuditRow(audit) });
      return toClient(row);
    });
  }

  async find(id: string): Promise<Client | undefined> {
    const row = await this.#database.models.oauthClient.findUnique({ where: { id } });
    return row === null ? undefined : toClient(row);
  }

  async list({ limit, after }: { limit: number; after: string | undefined }): Promise<Client[]> {
    const rows = await this.#database.models.oauthClient.findMany({
      where: after === undefined ? {} : { id: { gt: after } },
      orderBy: { id: 'asc' },
      take: limit,
    });
    return rows.map(toClient);
  }

  /** Whether an identity exists that cannot sign in with a password. */
  async isServiceIdentity(id: string): Promise<boolean> {
    const identity = await this.#database.models.identity.findFirst({
      where: { id, deletedAt: null, passwordHash: null },
      select: { id: true },
    });
    return identity !== null;
  }

  /** Keeps the last refused redirect URI of a client, and records it in the audit trail. */
  async recordRefusal(id: string, refusal: RedirectRefusal, origin: RequestOrigin): Promise<void> {
    await this.#database.$executeRaw`
      WITH refused AS (
        UPDATE oauth_clients SET last_refusal = ${JSON.stringify(refusal)}::jsonb WHERE id = ${id}::uuid
        RETURNING id, last_refusal
      )
      INSERT INTO audit_events (type, outcome, actor, identity_id, ip, user_agent, request_id, details)
      SELECT 'client.redirect_refused', 'failure', 'user', NULL, ${origin.ip}, ${origin.userAgent}, ${origin.requestId},
             jsonb_build_object('client', id) || (last_refusal - 'at')
        FROM refused`;
  }
}

function toColumns({ jwks, name, ...change }: Change) {
  const columns = Object.entries(change).filter(([, value]) => value !== undefined);
  return {
    ...(Object.fromEntries(columns) as Omit<Prisma.OauthClientUncheckedCreateInput, 'id' | 'kind' | 'name'>),
    ...(jwks === undefined ? {} : { jwks: jwks === null ? Prisma.DbNull : (jwks as Prisma.InputJsonObject) }),
    ...(name === undefined ? {} : { name }),
  };
}

function toClient(row: OauthClient): Client {
  return { ...row, ...storedClientSchema.parse(row) };
}
