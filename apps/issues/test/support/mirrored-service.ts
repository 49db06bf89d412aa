import type { Identity } from '@tessera/contracts';
import { untilDeliverable } from '@tessera/testing/event-horizon';
import pg from 'pg';
import type { IdentityService } from './identity-service.ts';
import { anEmail, password } from './people.ts';
import type { TestApp } from './test-app.ts';

const fields =
  'id, username, display_name, email, sso_provider, sso_id, is_active, is_verified, is_staff, is_superuser';

/** Compares the mirror with the database of the real identity service, and changes identities at random. */
export class MirroredService {
  readonly #identity: IdentityService;
  readonly #app: Pick<TestApp, 'sql'>;
  readonly #pool: pg.Pool;
  readonly #known: string[] = [];

  constructor(identity: IdentityService, app: Pick<TestApp, 'sql'>) {
    this.#identity = identity;
    this.#app = app;
    this.#pool = new pg.Pool({ connectionString: identity.databaseUrl, max: 2 });
  }

  close = () => this.#pool.end();

  sql = async (text: string, values: unknown[] = []): Promise<Record<string, unknown>[]> =>
    (await this.#pool.query(text, values)).rows;

  /** Waits until identity's feed can deliver all committed events. */
  settle = () => untilDeliverable(this);

  /** Returns the fields of all identities, and of all rows of the mirror that are not missing. */
  async compare() {
    const [identities, mirror, missing] = await Promise.all([
      this.sql(`SELECT ${fields} FROM identities WHERE deleted_at IS NULL ORDER BY id`),
      this.#app.sql(`SELECT ${fields} FROM identity_mirror WHERE missing_since IS NULL ORDER BY id`),
      this.#app.sql('SELECT is_active FROM identity_mirror WHERE missing_since IS NOT NULL AND is_active'),
    ]);
    return { identities, mirror, activeOfMissing: missing.length };
  }

  /** Makes one random change; one in three is a creation. */
  async changeAtRandom(index: number): Promise<string> {
    const target = this.#known[Math.floor(Math.random() * this.#known.length)];
    const name = index % 3 === 0 ? 'create' : anyOf([...Object.keys(changes), 'delete']);
    if (target === undefined || name === 'create') {
      const { id } = await this.#identity.create({ email: anEmail(), password });
      this.#known.push(id);
    } else if (name === 'delete') {
      this.#known.splice(this.#known.indexOf(target), 1);
      await this.#identity.delete(target);
    } else {
      await this.#identity.update(target, changes[name]?.(index) ?? {});
    }
    return name;
  }
}

const changes: Record<string, (index: number) => Partial<Identity>> = {
  rename: (index) => ({ username: `renamed-${index}`, display_name: `Name ${index}` }),
  unname: () => ({ display_name: null }),
  deactivate: () => ({ is_active: false }),
  reactivate: () => ({ is_active: true }),
  email: () => ({ email: anEmail() }),
  link: (index) => ({ sso_provider: 'google', sso_id: `sso-${index}` }),
  unlink: () => ({ sso_provider: null, sso_id: null }),
  flags: () => ({ is_verified: flip(), is_staff: flip(), is_superuser: flip() }),
};

const flip = () => Math.random() < 0.5;
const anyOf = (names: string[]) => names[Math.floor(Math.random() * names.length)] ?? 'create';
