import type { AccessTokenClaims } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import { LRUCache } from 'lru-cache';
import type { PersonReference, PersonResolver } from '../people/person-resolver.ts';
import type { IdentityClient, Lookup, Observation, Written } from './identity-client.ts';
import type { IdentityMirrorRepository } from './identity-mirror.repository.ts';
import { isOutage, unknownIdentity } from './identity-problem.ts';
import {
  isFresh,
  isOlderThan,
  type KnownIdentity,
  type MirroredIdentity,
  mayStandIn,
  readIdentity,
} from './mirrored-identity.ts';

interface IdentityMirrorDependencies {
  repository: IdentityMirrorRepository;
  client: IdentityClient;
}

/** How long this process answers for the mirror: what bounds how late it notices another's deactivation. */
const rememberedMs = 5_000;
/** How long nobody is asked again after a person who does not exist. */
const unknownMs = 30_000;

/** The local mirror of identities: refreshed from identity's answers and from newer claims, never the other way. */
export class IdentityMirrorService implements PersonResolver {
  readonly #repository: IdentityMirrorRepository;
  readonly #client: IdentityClient;
  readonly #remembered = new LRUCache<string, Promise<MirroredIdentity | undefined>>({
    max: 20_000,
    ttl: rememberedMs,
  });
  readonly #tokensSeen = new LRUCache<string, Promise<void>>({ max: 20_000 });
  readonly #unknown = new LRUCache<string, true>({ max: 5_000, ttl: unknownMs });
  readonly #resolving = new Map<string, Promise<KnownIdentity | undefined>>();
  #changes = 0;

  constructor({ repository, client }: IdentityMirrorDependencies) {
    this.#repository = repository;
    this.#client = client;
  }

  /**
   * The row of a token's identity, after its claims were taken in. The steady state neither writes nor reads. Where the
   * row says inactive and the token is newer, identity has the word: it issues no token to whom it does not let in.
   */
  async seeToken(claims: AccessTokenClaims, requestId?: string): Promise<MirroredIdentity | undefined> {
    await this.#takeIn(claims);
    const row = await this.#recall(claims.sub);
    if (row === undefined || row.isActive || !isOlderThan(row, claims)) return row;
    await this.refresh(claims.sub, requestId);
    return this.#recall(claims.sub);
  }

  /** Takes in what identity has answered to a change. */
  async keepWritten({ identity, ...observation }: Written): Promise<KnownIdentity> {
    const known = readIdentity(identity);
    await this.#repository.keep(known, 'write', observation);
    this.#remembered.delete(known.id);
    // Whoever was unknown so far may be the one who is known now.
    this.#changes += 1;
    this.#unknown.clear();
    return known;
  }

  /** Identity answered that an id is gone. */
  async keepMissing(id: string, observation: Observation): Promise<void> {
    await this.#repository.markMissing(id, observation);
    this.#remembered.delete(id);
  }

  /** Asks identity about an id and takes the answer in; undefined where identity does not know it. */
  async refresh(id: string, requestId?: string): Promise<KnownIdentity | undefined> {
    const { identity, ...observation } = await this.#client.findById(id, requestId);
    if (identity !== undefined) return this.#keepFound(identity, observation);
    await this.keepMissing(id, observation);
    return undefined;
  }

  async resolveForAssignment(
    reference: PersonReference,
    field: string,
    requestId?: string,
  ): Promise<{ id: string; username: string }> {
    const key = JSON.stringify(reference);
    const person = this.#unknown.has(key) ? undefined : await this.#findOnce(key, reference, requestId);
    if (person === undefined) throw unknownIdentity(field);
    if (!person.isActive) throw validationProblem([{ field, message: 'is not an active identity' }]);
    return { id: person.id, username: person.username };
  }

  // Who asks for the same meanwhile waits for this answer; who comes after it finds that it was negative.
  #findOnce(key: string, reference: PersonReference, requestId?: string): Promise<KnownIdentity | undefined> {
    const running = this.#resolving.get(key);
    if (running !== undefined) return running;
    const changes = this.#changes;
    const found = this.#findPerson(reference, requestId)
      .then((person) => {
        if (person === undefined && changes === this.#changes) this.#unknown.set(key, true);
        return person;
      })
      .finally(() => this.#resolving.delete(key));
    this.#resolving.set(key, found);
    return found;
  }

  // The mirror first, while it is fresh; while identity is down, a row of the last day stands in for it.
  async #findPerson(reference: PersonReference, requestId?: string): Promise<KnownIdentity | undefined> {
    const rows = await this.#findMirrored(reference);
    const [mirrored] = rows;
    if (mirrored !== undefined && isFresh(mirrored))
      return mirrored.missingSince === null ? mirrored : undefined;
    try {
      return 'id' in reference
        ? await this.refresh(reference.id, requestId)
        : await this.#lookUp(reference, rows, requestId);
    } catch (error) {
      if (isOutage(error) && mirrored?.isActive && mayStandIn(mirrored)) return mirrored;
      throw error;
    }
  }

  async #lookUp(
    reference: Exclude<PersonReference, { id: string }>,
    rows: MirroredIdentity[],
    requestId?: string,
  ): Promise<KnownIdentity | undefined> {
    const { identity, ...observation }: Lookup =
      'email' in reference
        ? await this.#client.findByEmail(reference.email, requestId)
        : await this.#client.findBySso(reference.ssoProvider, reference.ssoId, requestId);
    const found = identity === undefined ? undefined : await this.#keepFound(identity, observation);
    // That an e-mail is nobody's, or another's, does not tell what became of its owner: only their id does.
    const formerOwners = rows.filter((row) => row.id !== found?.id);
    await Promise.allSettled(formerOwners.map((row) => this.refresh(row.id, requestId)));
    return found;
  }

  async #keepFound(identity: Written['identity'], observation: Observation): Promise<KnownIdentity> {
    const known = readIdentity(identity);
    await this.#repository.keep(known, 'lookup', observation);
    this.#remembered.delete(known.id);
    return known;
  }

  async #findMirrored(reference: PersonReference): Promise<MirroredIdentity[]> {
    if (!('id' in reference)) return this.#repository.findActive(reference);
    const row = await this.#repository.find(reference.id);
    return row === undefined ? [] : [row];
  }

  #takeIn(claims: AccessTokenClaims): Promise<void> {
    const known = this.#tokensSeen.get(claims.jti);
    if (known !== undefined) return known;
    const taken = this.#repository.keepClaims(claims).then(
      () => {
        this.#remembered.delete(claims.sub);
      },
      (error: unknown) => {
        this.#tokensSeen.delete(claims.jti);
        throw error;
      },
    );
    this.#tokensSeen.set(claims.jti, taken);
    return taken;
  }

  #recall(id: string): Promise<MirroredIdentity | undefined> {
    const known = this.#remembered.get(id);
    if (known !== undefined) return known;
    const row = this.#repository.find(id).catch((error: unknown) => {
      this.#remembered.delete(id);
      throw error;
    });
    this.#remembered.set(id, row);
    return row;
  }
}
