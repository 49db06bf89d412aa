import { validationProblem } from '@tessera/service-kit';
import type pg from 'pg';
import type { PersonReference, PersonResolver } from '../../src/people/person-resolver.ts';

/** Knows whom the mirror knows, and asks nobody else. */
export class MirrorOnlyResolver implements PersonResolver {
  readonly #pool: pg.Pool;

  constructor(pool: pg.Pool) {
    this.#pool = pool;
  }

  async resolveForAssignment(
    reference: PersonReference,
    field: string,
  ): Promise<{ id: string; username: string }> {
    const { rows } = await this.#pool.query<{ id: string; username: string }>(
      `SELECT id, username FROM identity_mirror
        WHERE is_active AND (id = $1 OR lower(email) = lower($2) OR (sso_provider = $3 AND sso_id = $4))`,
      [
        'id' in reference ? reference.id : null,
        'email' in reference ? reference.email : null,
        'ssoProvider' in reference ? reference.ssoProvider : null,
        'ssoProvider' in reference ? reference.ssoId : null,
      ],
    );
    const [person] = rows;
    if (person !== undefined) return person;
    throw validationProblem([{ field, message: 'is nobody known' }]);
  }
}
