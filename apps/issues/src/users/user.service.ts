import type { CreateIdentity, UpdateIdentity } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { Actor } from '../authentication/actor.ts';
import type { IdentityClient } from '../identity-mirror/identity-client.ts';
import type {
  IdentityMirrorRepository,
  PeopleFilter,
} from '../identity-mirror/identity-mirror.repository.ts';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import { isOutage } from '../identity-mirror/identity-problem.ts';
import type { KnownIdentity } from '../identity-mirror/mirrored-identity.ts';
import { assertMayAdminister, maySeeAll } from './user-access.ts';

interface UserServiceDependencies {
  client: IdentityClient;
  mirror: IdentityMirrorService;
  repository: IdentityMirrorRepository;
  /** Asks identity about the actor's own rights before a change, where the mirror is older than a minute. */
  strictPrivilegeCheck: boolean;
}

export interface PeoplePage {
  people: KnownIdentity[];
  /** The id that this page ended with, if there are more. */
  end: string | undefined;
}

const recheckAfterMs = 60_000;

/** People: read from the mirror; changed at identity, whose answer the mirror then holds. */
export class UserService {
  readonly #dependencies: UserServiceDependencies;

  constructor(dependencies: UserServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async list(actor: Actor, filter: Omit<PeopleFilter, 'searchEmails'>): Promise<PeoplePage> {
    const { repository } = this.#dependencies;
    const rows = await repository.list({
      ...filter,
      limit: filter.limit + 1,
      searchEmails: maySeeAll(actor),
    });
    const people = rows.slice(0, filter.limit);
    return { people, end: rows.length > filter.limit ? people.at(-1)?.id : undefined };
  }

  /** Who may see everything may also look up whom the mirror has not met yet. */
  async find(actor: Actor, id: string, requestId: string): Promise<KnownIdentity> {
    const { repository, mirror } = this.#dependencies;
    const mirrored = await repository.find(id);
    if (mirrored !== undefined || !maySeeAll(actor)) return found(mirrored);
    return found(await mirror.refresh(id, requestId));
  }

  async create(actor: Actor, body: CreateIdentity, requestId: string): Promise<KnownIdentity> {
    assertMayAdminister(await this.#withPresentRights(actor, requestId), undefined, body);
    const { client, mirror } = this.#dependencies;
    return mirror.keepWritten(await client.create(body, requestId));
  }

  async update(actor: Actor, id: string, body: UpdateIdentity, requestId: string): Promise<KnownIdentity> {
    await this.#assertMayChange(actor, id, body, requestId);
    const { client, mirror } = this.#dependencies;
    try {
      return await mirror.keepWritten(await client.update(id, body, requestId));
    } catch (error) {
      await this.#learnOutcome(error, id, requestId);
      throw error;
    }
  }

  async deactivate(actor: Actor, id: string, requestId: string): Promise<void> {
    await this.#assertMayChange(actor, id, {}, requestId);
    const { client, mirror } = this.#dependencies;
    try {
      await mirror.keepMissing(id, await client.delete(id, requestId));
    } catch (error) {
      if ((await this.#learnOutcome(error, id, requestId)) !== 'gone') throw error;
    }
  }

  // A change whose answer got lost may have been made: the mirror must not go on with what was before it.
  async #learnOutcome(error: unknown, id: string, requestId: string): Promise<'gone' | 'there' | 'unknown'> {
    if (!isOutage(error) || error.cause.isUnsent) return 'unknown';
    try {
      return (await this.#dependencies.mirror.refresh(id, requestId)) === undefined ? 'gone' : 'there';
    } catch {
      return 'unknown';
    }
  }

  // Whose rights they are is read from identity: the mirror may not know yet that somebody has become staff.
  async #assertMayChange(actor: Actor, id: string, body: object, requestId: string): Promise<void> {
    const present = await this.#withPresentRights(actor, requestId);
    assertMayAdminister(present, undefined, body);
    const person = found(await this.#dependencies.mirror.refresh(id, requestId));
    assertMayAdminister(present, person, body);
  }

  async #withPresentRights(actor: Actor, requestId: string): Promise<Actor> {
    const { strictPrivilegeCheck, mirror, repository } = this.#dependencies;
    if (!strictPrivilegeCheck) return actor;
    const mirrored = await repository.find(actor.id);
    const checkedMs = mirrored?.checkedAt?.getTime() ?? 0;
    if (Date.now() - checkedMs < recheckAfterMs) return actor;
    const person = await mirror.refresh(actor.id, requestId);
    return {
      ...actor,
      isStaff: actor.isStaff && person?.isStaff === true && person.isActive,
      isSuperuser: actor.isSuperuser && person?.isSuperuser === true && person.isActive,
    };
  }
}

function found(person: KnownIdentity | undefined): KnownIdentity {
  if (person !== undefined) return person;
  throw new ProblemError({ status: 404, code: 'user_not_found', detail: 'There is no such user.' });
}
