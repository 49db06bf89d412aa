import type { ChangePassword, CreateIdentity, UpdateIdentity } from '@tessera/contracts';
import { ProblemError } from '@tessera/service-kit';
import type { IdentityClient } from '../identity-mirror/identity-client.ts';
import type { IdentityMirrorRepository } from '../identity-mirror/identity-mirror.repository.ts';
import type { IdentityMirrorService } from '../identity-mirror/identity-mirror.service.ts';
import { isOutage } from '../identity-mirror/identity-problem.ts';
import type { KnownIdentity } from '../identity-mirror/mirrored-identity.ts';
import type { PeopleFilter, RankedPlace } from '../identity-mirror/people-list.ts';
import type { Actor } from '../issue-core/actor.ts';
import { assertMayAdminister, maySeeAll } from './user-access.ts';

interface UserServiceDependencies {
  client: IdentityClient;
  mirror: IdentityMirrorService;
  repository: IdentityMirrorRepository;
  /**
   * Whether the actor's privileges are refreshed from identity before a change if the mirror is older than a minute.
   */
  strictPrivilegeCheck: boolean;
}

const recheckAfterMs = 60_000;

/** Users. Reads come from the mirror. Changes go to identity, and its response updates the mirror. */
export class UserService {
  readonly #dependencies: UserServiceDependencies;

  constructor(dependencies: UserServiceDependencies) {
    this.#dependencies = dependencies;
  }

  async list(
    actor: Actor,
    filter: Omit<PeopleFilter, 'searchEmails'>,
    page: { after: string | undefined; limit: number },
  ): Promise<KnownIdentity[]> {
    return this.#dependencies.repository.list({ ...filter, searchEmails: maySeeAll(actor) }, page);
  }

  /** Lists the people who match a search, or all people, with the people of an issue first. */
  async listRanked(
    actor: Actor,
    filter: Omit<PeopleFilter, 'searchEmails'>,
    page: { after: RankedPlace | undefined; limit: number },
  ): Promise<(KnownIdentity & RankedPlace)[]> {
    return this.#dependencies.repository.listRanked({ ...filter, searchEmails: maySeeAll(actor) }, page);
  }

  /** Finds a user in the mirror. For an actor who may see all fields, also looks up unknown ids at identity. */
  async find(actor: Actor, id: string, requestId: string): Promise<KnownIdentity> {
    const { repository, mirror } = this.#dependencies;
    const mirrored = await repository.find(id);
    if (mirrored !== undefined || !maySeeAll(actor)) return assertFound(mirrored);
    return assertFound(await mirror.refresh(id, requestId));
  }

  async create(actor: Actor, body: CreateIdentity, requestId: string): Promise<KnownIdentity> {
    assertMayAdminister(await this.#withCurrentPrivileges(actor, requestId), undefined, body);
    const { client, mirror } = this.#dependencies;
    return mirror.upsertFromWrite(await client.create(body, requestId));
  }

  async update(actor: Actor, id: string, body: UpdateIdentity, requestId: string): Promise<KnownIdentity> {
    await this.#assertMayChange(actor, id, body, requestId);
    return this.#update(id, body, requestId);
  }

  async #update(id: string, body: UpdateIdentity, requestId: string): Promise<KnownIdentity> {
    const { client, mirror } = this.#dependencies;
    try {
      return await mirror.upsertFromWrite(await client.update(id, body, requestId));
    } catch (error) {
      await this.#refreshAfterOutage(error, id, requestId);
      throw error;
    }
  }

  /** Changes the actor's own display name. */
  async rename(actor: Actor, name: string | null, requestId: string): Promise<KnownIdentity> {
    // Another backend may have ended the account while its access token is still valid.
    const current = await this.#dependencies.mirror.refresh(actor.id, requestId);
    assertFound(current?.isActive === true ? current : undefined);
    return this.#update(actor.id, { display_name: name }, requestId);
  }

  /** Changes the actor's own password. Identity ends all sessions of the actor. */
  async changePassword(actor: Actor, body: ChangePassword, requestId: string): Promise<void> {
    await this.#dependencies.client.changePassword(actor.id, body, requestId);
  }

  async deactivate(actor: Actor, id: string, requestId: string): Promise<void> {
    await this.#assertMayChange(actor, id, {}, requestId);
    const { client, mirror } = this.#dependencies;
    try {
      await mirror.markMissing(id, await client.delete(id, requestId));
    } catch (error) {
      const isMissing = await this.#refreshAfterOutage(error, id, requestId);
      if (!isMissing) throw error;
    }
  }

  // A change whose response was lost may have taken effect, so this refreshes the mirror. Returns whether identity has
  // confirmed that the user does not exist.
  async #refreshAfterOutage(error: unknown, id: string, requestId: string): Promise<boolean> {
    if (!isOutage(error) || error.cause.isUnsent) return false;
    try {
      return (await this.#dependencies.mirror.refresh(id, requestId)) === undefined;
    } catch {
      return false;
    }
  }

  // Reads the person's privileges from identity: the mirror may not know yet that they have become staff.
  async #assertMayChange(actor: Actor, id: string, body: object, requestId: string): Promise<void> {
    const current = await this.#withCurrentPrivileges(actor, requestId);
    assertMayAdminister(current, undefined, body);
    const person = assertFound(await this.#dependencies.mirror.refresh(id, requestId));
    assertMayAdminister(current, person, body);
  }

  async #withCurrentPrivileges(actor: Actor, requestId: string): Promise<Actor> {
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

function assertFound(person: KnownIdentity | undefined): KnownIdentity {
  if (person !== undefined) return person;
  throw new ProblemError({ status: 404, code: 'user_not_found', detail: 'User not found.' });
}
