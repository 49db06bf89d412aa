import type { Adapter, AdapterPayload } from 'oidc-provider';
import type { OidcAccount, OidcStorage } from './oidc-storage.ts';

/**
 * Maps without a bound. oidc-provider's own memory adapter forgets all but the last thousand entries, and looks through
 * a grant's tokens at each new one: this one does less work for it and loses nothing.
 */
export function openMemoryStorage(): OidcStorage {
  const accounts = new Map<string, OidcAccount>();
  return {
    adapter: () => new MemoryAdapter(),
    addAccounts: async (added) => {
      for (const account of added) accounts.set(account.id, account);
    },
    findAccount: async (id) => accounts.get(id),
    close: async () => {},
  };
}

// One of these for each kind of model.
class MemoryAdapter implements Adapter {
  readonly #payloads = new Map<string, AdapterPayload>();
  readonly #ofGrant = new Map<string, Set<string>>();

  async upsert(id: string, payload: AdapterPayload): Promise<void> {
    this.#payloads.set(id, payload);
    const { grantId } = payload;
    if (grantId === undefined) return;
    const ids = this.#ofGrant.get(grantId);
    if (ids === undefined) this.#ofGrant.set(grantId, new Set([id]));
    else ids.add(id);
  }

  async find(id: string): Promise<AdapterPayload | undefined> {
    return this.#payloads.get(id);
  }

  // Neither is asked here for more than a few: sessions and device codes have no part in the rows.
  async findByUid(uid: string): Promise<AdapterPayload | undefined> {
    return [...this.#payloads.values()].find((payload) => payload.uid === uid);
  }

  async findByUserCode(userCode: string): Promise<AdapterPayload | undefined> {
    return [...this.#payloads.values()].find((payload) => payload.userCode === userCode);
  }

  async consume(id: string): Promise<void> {
    const payload = this.#payloads.get(id);
    if (payload !== undefined) payload.consumed = Math.floor(Date.now() / 1000);
  }

  async destroy(id: string): Promise<void> {
    this.#payloads.delete(id);
  }

  async revokeByGrantId(grantId: string): Promise<void> {
    for (const id of this.#ofGrant.get(grantId) ?? []) this.#payloads.delete(id);
    this.#ofGrant.delete(grantId);
  }
}
