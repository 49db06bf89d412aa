import { type AccessTokenClaims, type Identity, identityIdsMax } from '@tessera/contracts';
import { validationProblem } from '@tessera/service-kit';
import { LRUCache } from 'lru-cache';
import type { PersonReference, PersonResolver } from '../issue-core/person.ts';
import type { IdentityClient, Lookup, Observation, WriteResult } from './identity-client.ts';
import type { IdentityMirrorRepository } from './identity-mirror.repository.ts';
import { isOutage, unknownIdentity } from './identity-problem.ts';
import {
  isFresh,
  isOlderThan,
  isUsableDuringOutage,
  type KnownIdentity,
  type MirroredCaller,
  type MirroredIdentity,
  seenOrderOf,
  toKnownIdentity,
} from './mirrored-identity.ts';

interface IdentityMirrorDependencies {
  repository: IdentityMirrorRepository;
  client: IdentityClient;
}

/**
 * How long this process caches rows. With the interval of `MirrorFeed`, this bounds the delay until it notices a
 * deactivation, and that all sessions have ended.
 */
const cacheTtlMs = 2_000;
/** How long a negative lookup is cached. */
const unknownTtlMs = 30_000;

/** The local mirror of identities. Responses of identity and newer token claims update it. */
export class IdentityMirrorService implements PersonResolver {
  readonly #repository: IdentityMirrorRepository;
  readonly #client: IdentityClient;
  readonly #cachedRows = new LRUCache<string, Promise<MirroredCaller | undefined>>({
    max: 20_000,
    ttl: cacheTtlMs,
  });
  readonly #syncedTokens = new LRUCache<string, Promise<void>>({ max: 20_000 });
  readonly #unknownPeople = new LRUCache<string, true>({ max: 5_000, ttl: unknownTtlMs });
  readonly #runningLookups = new Map<string, Promise<KnownIdentity | undefined>>();
  #writes = 0;

  constructor({ repository, client }: IdentityMirrorDependencies) {
    this.#repository = repository;
    this.#client = client;
  }

  /**
   * Applies the token's claims if they are newer, then returns the mirrored identity. Repeated calls for the same token
   * use caches only. If the row is inactive and the token is newer, the identity may have been reactivated: asks identity.
   */
  async syncFromClaims(claims: AccessTokenClaims, requestId?: string): Promise<MirroredCaller | undefined> {
    await this.#upsertClaims(claims);
    let row = await this.#getCached(claims.sub);
    if (row === undefined) {
      // A failover or a restore has lost the row since.
      this.#syncedTokens.delete(claims.jti);
      await this.#upsertClaims(claims);
      row = await this.#getCached(claims.sub);
    }
    if (row === undefined || row.isActive || !isOlderThan(row, claims)) return row;
    await this.refresh(claims.sub, requestId);
    return this.#getCached(claims.sub);
  }

  /** Writes the response of identity to a change. */
  async upsertFromWrite({ identity, ...observation }: WriteResult): Promise<KnownIdentity> {
    const known = toKnownIdentity(identity);
    await this.#repository.upsert(known, 'write', observation);
    this.#cachedRows.delete(known.id);
    this.#forgetUnknown();
    return known;
  }

  /** Writes a page of the list of identities. */
  async upsertFromList(identities: readonly Identity[], observation: Observation): Promise<void> {
    const changed = await this.#repository.upsertChanged(identities.map(toKnownIdentity), observation);
    for (const id of changed) this.#cachedRows.delete(id);
  }

  /** Marks the identity as missing after identity has deleted it or responded that it does not exist. */
  async markMissing(id: string, observation: Observation): Promise<void> {
    await this.#repository.markMissing(id, observation);
    this.#cachedRows.delete(id);
  }

  /** Looks up the id at identity and writes the result; undefined if identity does not know it. */
  async refresh(id: string, requestId?: string): Promise<KnownIdentity | undefined> {
    const { identity, ...observation } = await this.#client.findById(id, requestId);
    if (identity !== undefined) return this.#upsertFromLookup(identity, observation);
    await this.markMissing(id, observation);
    return undefined;
  }

  /** Reads identities at identity and writes the results. Those that are not found are marked as missing. */
  async refreshAll(ids: readonly string[]): Promise<void> {
    for (let start = 0; start < ids.length; start += identityIdsMax) {
      const asked = ids.slice(start, start + identityIdsMax);
      const { identities, ...observation } = await this.#client.findMany(asked);
      await this.upsertFromList(identities, observation);
      const found = new Set(identities.map(({ id }) => id));
      const unknown = asked.filter((id) => !found.has(id));
      for (const id of await this.#repository.markAllMissing(unknown, observation))
        this.#cachedRows.delete(id);
    }
    if (ids.length > 0) this.#forgetUnknown();
  }

  async resolveForAssignment(
    reference: PersonReference,
    field: string,
    requestId?: string,
  ): Promise<{ id: string; username: string }> {
    const key = JSON.stringify(reference);
    const person = this.#unknownPeople.has(key) ? undefined : await this.#findOnce(key, reference, requestId);
    if (person === undefined) throw unknownIdentity(field);
    if (!person.isActive) throw validationProblem([{ field, message: 'is not an active identity' }]);
    return { id: person.id, username: person.username };
  }

  // Concurrent calls share one lookup; later calls reuse a negative result, unless a write may have made it wrong.
  #findOnce(key: string, reference: PersonReference, requestId?: string): Promise<KnownIdentity | undefined> {
    const running = this.#runningLookups.get(key);
    if (running !== undefined) return running;
    const writesBefore = this.#writes;
    const found = this.#findPerson(reference, requestId)
      .then((person) => {
        if (person === undefined && writesBefore === this.#writes) this.#unknownPeople.set(key, true);
        return person;
      })
      .finally(() => this.#runningLookups.delete(key));
    this.#runningLookups.set(key, found);
    return found;
  }

  // Uses a fresh row of the mirror, then identity. During an outage, uses a row that was confirmed in the last 24 hours.
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
      if (isOutage(error) && mirrored?.isActive && isUsableDuringOutage(mirrored)) return mirrored;
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
    const found = identity === undefined ? undefined : await this.#upsertFromLookup(identity, observation);
    // The e-mail or SSO pair no longer belongs to these identities. Only a lookup by id shows their current state.
    const previousOwners = rows.filter((row) => row.id !== found?.id);
    await Promise.allSettled(previousOwners.map((row) => this.refresh(row.id, requestId)));
    return found;
  }

  async #upsertFromLookup(
    identity: WriteResult['identity'],
    observation: Observation,
  ): Promise<KnownIdentity> {
    const known = toKnownIdentity(identity);
    await this.#repository.upsert(known, 'lookup', observation);
    this.#cachedRows.delete(known.id);
    return known;
  }

  async #findMirrored(reference: PersonReference): Promise<MirroredIdentity[]> {
    if (!('id' in reference)) return this.#repository.findActive(reference);
    const row = await this.#repository.find(reference.id);
    return row === undefined ? [] : [row];
  }

  #upsertClaims(claims: AccessTokenClaims): Promise<void> {
    const cached = this.#syncedTokens.get(claims.jti);
    if (cached !== undefined) return cached;
    const written = this.#repository.upsertClaims(claims).then(
      () => {
        this.#cachedRows.delete(claims.sub);
      },
      (error: unknown) => {
        this.#syncedTokens.delete(claims.jti);
        throw error;
      },
    );
    this.#syncedTokens.set(claims.jti, written);
    return written;
  }

  // A negative lookup may have been for an identity that was just created or changed.
  #forgetUnknown(): void {
    this.#writes += 1;
    this.#unknownPeople.clear();
  }

  async #findSeen(id: string): Promise<MirroredCaller | undefined> {
    const row = await this.#repository.findCaller(id);
    const seenOrder = seenOrderOf(Date.now());
    if (row !== undefined && row.seenOrder > seenOrder) await this.#repository.recordSeen(id, seenOrder);
    return row;
  }

  #getCached(id: string): Promise<MirroredCaller | undefined> {
    const cached = this.#cachedRows.get(id);
    if (cached !== undefined) return cached;
    const row = this.#findSeen(id).catch((error: unknown) => {
      this.#cachedRows.delete(id);
      throw error;
    });
    this.#cachedRows.set(id, row);
    return row;
  }
}
