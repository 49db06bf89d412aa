import type { Database } from '../database.ts';

/** The registered client of the web app. */
export interface StoredClient {
  clientId: string | null;
  /** Sealed. */
  secret: Uint8Array | null;
  /** What was registered. */
  registration: string | null;
  generation: number;
}

/** Longer than a registration, which is up to three requests to identity. */
const claimSeconds = 120;

/** The OAuth client of the web app, one for each issuer. */
export class OauthClientRepository {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  async find(issuer: string): Promise<StoredClient | undefined> {
    const [row] = await this.#database.$queryRaw<StoredClient[]>`
      SELECT client_id AS "clientId", secret, registration, generation FROM oauth_client WHERE issuer = ${issuer}`;
    return row;
  }

  /**
   * Claims the registration or repair of the client as it was found. If several processes call this at once, one gets true; the
   * claim of a process that ends expires.
   */
  async claim(issuer: string, found: StoredClient | undefined): Promise<boolean> {
    const claimed = await this.#database.$executeRaw`
      INSERT INTO oauth_client AS c (issuer, claimed_until)
      VALUES (${issuer}, now() + ${claimSeconds} * interval '1 second')
      ON CONFLICT (issuer) DO UPDATE SET claimed_until = excluded.claimed_until
       WHERE c.claimed_until <= now() AND c.generation = ${found?.generation ?? 0}`;
    return claimed === 1;
  }

  /** Stores what the claim was for, and ends it. @returns false if another process has taken over */
  async store(
    issuer: string,
    found: StoredClient | undefined,
    { clientId, secret, registration }: { clientId: string; secret: Uint8Array; registration: string },
  ): Promise<boolean> {
    const stored = await this.#database.$executeRaw`
      UPDATE oauth_client SET client_id = ${clientId}::uuid, secret = ${secret}, registration = ${registration},
        generation = generation + 1, claimed_until = now()
       WHERE issuer = ${issuer} AND generation = ${found?.generation ?? 0}`;
    return stored === 1;
  }

  /** Ends a claim after a failure. */
  async release(issuer: string): Promise<void> {
    await this.#database.$executeRaw`UPDATE oauth_client SET claimed_until = now() WHERE issuer = ${issuer}`;
  }
}
