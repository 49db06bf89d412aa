import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { kidPattern } from '@tessera/contracts';
import {
  highestNumber,
  isDeleted,
  type KeyRecord,
  type KeyRing,
  type KeyState,
  keyRingFile,
  readKeyRing,
  serializeKeyRing,
  stateOf,
} from './key-ring.ts';
import { type Lifetimes, waitingTimes } from './key-schedule.ts';

/** Thrown for a step that is not allowed, or not allowed yet. The message gives the reason and the earliest time. */
export class RotationRefusal extends Error {}

interface KeyRotationOptions {
  directory: string;
  /** New keys are named `<keyName>-key-<n>`. */
  keyName: string;
  lifetimes: Lifetimes;
  /** Skips the waiting times, for a leaked key. */
  atOnce?: boolean;
  /** The key that signs. Required if the directory holds several keys and no `keys.json`. */
  activeKid?: string | undefined;
  now?: () => Date;
}

export interface ListedKey {
  kid: string;
  state: KeyState;
  since: Date;
  /** The next step and its earliest time; absent for the active key. */
  next?: { step: 'activate' | 'retire' | 'delete'; from: Date };
}

const modulusLength = 2048;

/** Moves keys through their states (docs/spec/identity-service.md 3.1) by changing files. Services read them when they start. */
export class KeyRotation {
  readonly #options: KeyRotationOptions;
  readonly #now: Date;

  constructor(options: KeyRotationOptions) {
    this.#options = options;
    this.#now = options.now?.() ?? new Date();
  }

  list(): ListedKey[] {
    return this.#ring().records.map((record) => {
      const state = stateOf(record);
      const { kid, madeAt, activatedAt, replacedAt, unpublishedAt } = record;
      const since = unpublishedAt ?? replacedAt ?? activatedAt ?? madeAt;
      const step = nextSteps[state];
      return step === undefined
        ? { kid, state, since }
        : { kid, state, since, next: { step, from: this.#earliest(record, step) } };
    });
  }

  /**
   * Creates the next key and returns its kid. The first key of a directory is active at once. A deleted key's kid is not used
   * again: consumers may have cached the deleted key under it.
   */
  createNext(): string {
    const { records, lastNumber } = this.#ring();
    const next = records.find((record) => stateOf(record) === 'next');
    if (next !== undefined) throw new RotationRefusal(`${next.kid} is already the next key.`);
    const number = lastNumber + 1;
    const kid = `${this.#options.keyName}-key-${number}`;
    // Save the number before the file: a crash in between then cannot assign the number to another key.
    this.#save(records, number);
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength });
    this.#write(`${kid}.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    const activated = records.length === 0 ? { activatedAt: this.#now } : {};
    this.#save([...records, { ...newRecord(kid, this.#now), ...activated }], number);
    return kid;
  }

  /** Makes the next key the active one and returns its kid. */
  activate(): string {
    const { records, lastNumber } = this.#ring();
    const next = records.find((record) => stateOf(record) === 'next');
    if (next === undefined) throw new RotationRefusal('There is no next key. Create one first.');
    this.#assertTime(next, 'activate');
    this.#save(
      records.map((record) => {
        if (record === next) return { ...record, activatedAt: this.#now };
        return stateOf(record) === 'active' ? { ...record, replacedAt: this.#now } : record;
      }),
      lastNumber,
    );
    return next.kid;
  }

  /** Removes a key that no longer signs from the published key set. */
  retire(kid: string): void {
    const { records, lastNumber, record } = this.#find(kid, 'retiring', 'retire');
    this.#assertTime(record, 'retire');
    const unpublished = { ...record, unpublishedAt: this.#now };
    this.#save(
      records.map((one) => (one === record ? unpublished : one)),
      lastNumber,
    );
  }

  /** Deletes a key. Refresh tokens signed with it become invalid. The file of a deleted key that came back is removed. */
  delete(kid: string): void {
    const file = join(this.#options.directory, `${kid}.pem`);
    if (kidPattern.test(kid) && isDeleted(kid, this.#ring()) && existsSync(file)) {
      rmSync(file);
      return;
    }
    const states: KeyState[] = this.#options.atOnce ? ['verify_only', 'retiring', 'next'] : ['verify_only'];
    const { records, lastNumber, record } = this.#find(kid, states, 'delete');
    this.#assertTime(record, 'delete');
    // Delete the PEM file first: a crash in between then leaves a record without a file, which the next step names. The
    // reverse order would leave the file of a key that nothing deletes.
    rmSync(file);
    this.#save(
      records.filter((one) => one !== record),
      lastNumber,
    );
  }

  #find(kid: string, wanted: KeyState | KeyState[], step: string) {
    const ring = this.#ring();
    const record = ring.records.find((one) => one.kid === kid);
    if (record === undefined) throw new RotationRefusal(`There is no key ${kid}.`);
    const state = stateOf(record);
    if (![wanted].flat().includes(state))
      throw new RotationRefusal(`Cannot ${step} ${kid}: its state is ${state}.`);
    return { ...ring, record };
  }

  #assertTime(record: KeyRecord, step: 'activate' | 'retire' | 'delete'): void {
    const from = this.#earliest(record, step);
    if (this.#options.atOnce || this.#now >= from) return;
    throw new RotationRefusal(`Too early to ${step} ${record.kid}: not before ${from.toISOString()}.`);
  }

  #earliest({ madeAt, replacedAt }: KeyRecord, step: 'activate' | 'retire' | 'delete'): Date {
    const since = step === 'activate' ? madeAt : (replacedAt ?? madeAt);
    return new Date(since.getTime() + waitingTimes(this.#options.lifetimes)[step] * 1000);
  }

  #ring(): KeyRing {
    const { directory } = this.#options;
    const ring = readKeyRing(directory) ?? { records: this.#inferRecords(), lastNumber: 0 };
    const missing = ring.records.find(({ kid }) => !existsSync(join(directory, `${kid}.pem`)));
    if (missing !== undefined) throw new RotationRefusal(`${missing.kid}.pem is missing.`);
    return { records: ring.records, lastNumber: highestNumber(ring) };
  }

  // For a directory without keys.json: the only key, or the configured one, is active.
  #inferRecords(): KeyRecord[] {
    const { directory, activeKid } = this.#options;
    if (!existsSync(directory)) throw new RotationRefusal(`The directory ${directory} does not exist.`);
    const kids = readdirSync(directory)
      .filter((name) => name.endsWith('.pem'))
      .map((name) => name.slice(0, -'.pem'.length))
      .sort();
    const active = kids.length === 1 ? kids[0] : activeKid;
    if (kids.length > 0 && (active === undefined || !kids.includes(active)))
      throw new RotationRefusal('JWT_ACTIVE_KID must name the active key.');
    return kids.map((kid) => {
      const madeAt = statSync(join(directory, `${kid}.pem`)).mtime;
      return {
        ...newRecord(kid, madeAt),
        ...(kid === active ? { activatedAt: madeAt } : { activatedAt: madeAt, replacedAt: this.#now }),
      };
    });
  }

  #save(records: readonly KeyRecord[], lastNumber: number): void {
    this.#write(keyRingFile, serializeKeyRing({ records, lastNumber }));
  }

  // Write and rename, so that a reader never sees a partial file.
  #write(name: string, text: string): void {
    const path = join(this.#options.directory, name);
    writeFileSync(`${path}.part`, text, { mode: 0o600 });
    renameSync(`${path}.part`, path);
  }
}

const nextSteps: Partial<Record<KeyState, 'activate' | 'retire' | 'delete'>> = {
  next: 'activate',
  retiring: 'retire',
  verify_only: 'delete',
};

function newRecord(kid: string, madeAt: Date): KeyRecord {
  return { kid, madeAt, activatedAt: undefined, replacedAt: undefined, unpublishedAt: undefined };
}
