import type { Leases } from '../background/leases.ts';
import type { Database } from '../database.ts';
import type { MirrorSnapshot } from './mirror-backfill.ts';

/** The lease of the process that copies identities. */
export interface BackfillLease {
  id: string;
  /** The id after which the backfill continues; null for the beginning. */
  after: string | null;
}

/** The progress of the backfill, which all replicas share. */
export class MirrorBackfillRepository {
  readonly #database: Database;
  readonly #leases: Leases;

  constructor(database: Database, leases: Leases) {
    this.#database = database;
    this.#leases = leases;
  }

  /**
   * Leases the backfill if it is due; undefined if it is not due or another process holds the lease. Starts again with
   * the first identity if the last pass began more than `passSeconds` ago. After a pass, it is due only if identity's
   * events were not read in the last minute.
   */
  async lease(leaseSeconds: number, passSeconds: number): Promise<BackfillLease | undefined> {
    return this.#leases.take(leaseSeconds * 1000, {
      lease: (id) => this.#lease(id, leaseSeconds, passSeconds),
      release: (id) => this.#release(id),
    });
  }

  async #lease(id: string, leaseSeconds: number, passSeconds: number): Promise<BackfillLease | undefined> {
    const [lease] = await this.#database.$queryRaw<BackfillLease[]>`
      UPDATE mirror_backfill b
         SET claim_id = ${id}::uuid, claim_until = now() + ${leaseSeconds}::int * interval '1 second',
             after = CASE WHEN next.is_new_pass THEN NULL ELSE b.after END,
             pass_started_at = CASE WHEN next.is_new_pass THEN now() ELSE b.pass_started_at END
        FROM (SELECT is_finished, is_finished AND pass_started_at < now() - ${passSeconds}::int * interval '1 second'
                     AS is_new_pass
                FROM (SELECT coalesce(pass_finished_at >= pass_started_at, false) AS is_finished, pass_started_at
                        FROM mirror_backfill) pass) next
       WHERE next_attempt_at <= now() AND (claim_until IS NULL OR claim_until < now())
         AND (NOT next.is_finished OR next.is_new_pass
              OR NOT EXISTS (SELECT FROM mirror_feed WHERE read_at > now() - interval '1 minute'))
      RETURNING b.claim_id AS id, b.after`;
    return lease;
  }

  /**
   * Records that all identities up to this id are copied, and extends the lease. Returns false if the lease has
   * expired.
   */
  async advance(lease: BackfillLease, after: string | null, leaseSeconds: number): Promise<boolean> {
    const updated = await this.#database.$executeRaw`
      UPDATE mirror_backfill
         SET after = ${after}::uuid, claim_until = now() + ${leaseSeconds}::int * interval '1 second'
       WHERE claim_id = ${lease.id}::uuid`;
    this.#leases.extend(lease.id, leaseSeconds * 1000);
    return updated > 0;
  }

  /** Ends the lease after the last identity. */
  async finish(lease: BackfillLease, intervalSeconds: number): Promise<void> {
    const end = () => this.#database.$executeRaw`
      UPDATE mirror_backfill
         SET claim_id = NULL, claim_until = NULL,
             pass_finished_at = CASE WHEN pass_finished_at >= pass_started_at THEN pass_finished_at ELSE now() END,
             next_attempt_at = now() + ${intervalSeconds}::int * interval '1 second'
       WHERE claim_id = ${lease.id}::uuid`;
    await this.#leases.end(lease.id, end);
  }

  /** Ends the lease early. Another process may continue at once. */
  async release(lease: BackfillLease): Promise<void> {
    await this.#leases.end(lease.id, () => this.#release(lease.id));
  }

  async #release(id: string): Promise<void> {
    await this.#database.$executeRaw`
      UPDATE mirror_backfill
         SET claim_id = NULL, claim_until = NULL,
             next_attempt_at = now()
       WHERE claim_id = ${id}::uuid`;
  }

  /**
   * Returns the ids of active rows in the range of a page that identity did not list, such as those of deleted
   * identities, and those that were written after the page.
   */
  async findUnlisted({ after, listed }: MirrorSnapshot, limit: number): Promise<string[]> {
    const last = listed.at(-1) ?? null;
    const rows = await this.#database.$queryRaw<{ id: string }[]>`
      SELECT id FROM identity_mirror
       WHERE id > coalesce(${after}::uuid, '00000000-0000-0000-0000-000000000000')
         AND id <= coalesce(${last}::uuid, 'ffffffff-ffff-ffff-ffff-ffffffffffff')
         AND id <> ALL (${[...listed]}::uuid[]) AND missing_since IS NULL
       ORDER BY id LIMIT ${limit}::int`;
    return rows.map(({ id }) => id);
  }

  /** Returns the seconds since the last complete pass over all identities, or since the first one began. */
  async findAge(): Promise<number> {
    const [row] = await this.#database.$queryRaw<{ age: number }[]>`
      SELECT extract(epoch FROM now() - coalesce(pass_finished_at, pass_started_at))::float8 AS age FROM mirror_backfill`;
    return row?.age ?? 0;
  }
}
