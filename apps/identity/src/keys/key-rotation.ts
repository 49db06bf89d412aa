import { generateKeyPairSync } from 'node:crypto';
import { existsSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import {
  type KeyRecord,
  type KeyState,
  keyRingFile,
  readKeyRing,
  stateOf,
  writeKeyRing,
} from './key-ring.ts';
import { type Lifetimes, waitingTimes } from './key-schedule.ts';

/** A step that may not be taken, or not yet; the message says why, and when. */
export class RotationRefusal extends Error {}

interface KeyRotationOptions {
  directory: string;
  /** New keys are named `<keyName>-key-<n>`. */
  keyName: string;
  lifetimes: Lifetimes;
  /** A key has leaked: nothing is waited for. */
  atOnce?: boolean;
  /** The one that signs, in a folder that was never rotated and holds several. */
  activeKid?: string | undefined;
  now?: () => Date;
}

export interface ListedKey {
  kid: string;
  state: KeyState;
  since: Date;
  /** The next step for this key and the moment from which it may be taken; absent for the one that signs. */
  next?: { step: 'activate' | 'retire' | 'delete'; from: Date };
}

const modulusLength = 2048;

/** Moves the keys of a folder through their states (identity-service.md 3.1); each step writes files, and no service. */
export class KeyRotation {
  readonly #options: KeyRotationOptions;
  readonly #now: Date;

  constructor(options: KeyRotationOptions) {
    this.#options = options;
    this.#now = options.now?.() ?? new Date();
  }

  list(): ListedKey[] {
    return this.#records().map((record) => {
      const state = stateOf(record);
      const { kid, madeAt, activatedAt, replacedAt, unpublishedAt } = record;
      const since = unpublishedAt ?? replacedAt ?? activatedAt ?? madeAt;
      const step = nextSteps[state];
      return step === undefined
        ? { kid, state, since }
        : { kid, state, since, next: { step, from: this.#earliest(record, step) } };
    });
  }

  /** Makes the key that will sign next. Answers its kid. */
  makeNext(): string {
    const records = this.#records();
    const waiting = records.find((record) => stateOf(record) === 'next');
    if (waiting !== undefined) throw new RotationRefusal(`${waiting.kid} is the next key already.`);
    const numbers = records.map(({ kid }) => Number(/\d+$/.exec(kid)?.[0] ?? 0));
    const kid = `${this.#options.keyName}-key-${Math.max(0, ...numbers) + 1}`;
    const { privateKey } = generateKeyPairSync('rsa', { modulusLength });
    this.#write(`${kid}.pem`, privateKey.export({ type: 'pkcs8', format: 'pem' }).toString());
    const first = records.length === 0 ? { activatedAt: this.#now } : {};
    this.#save([...records, { ...bare(kid, this.#now), ...first }]);
    return kid;
  }

  /** The next key signs from now on. Answers its kid. */
  activate(): string {
    const records = this.#records();
    const next = records.find((record) => stateOf(record) === 'next');
    if (next === undefined) throw new RotationRefusal('There is no next key: make one first.');
    this.#assertTime(next, 'activate');
    this.#save(
      records.map((record) => {
        if (record === next) return { ...record, activatedAt: this.#now };
        return stateOf(record) === 'active' ? { ...record, replacedAt: this.#now } : record;
      }),
    );
    return next.kid;
  }

  /** A key that signs no more leaves the key set. */
  retire(kid: string): void {
    const { records, record } = this.#find(kid, 'retiring', 'retire');
    this.#assertTime(record, 'retire');
    this.#save(records.map((one) => (one === record ? { ...one, unpublishedAt: this.#now } : one)));
  }

  /** A key goes for good, and with it whatever lives under it. */
  delete(kid: string): void {
    const states: KeyState[] = this.#options.atOnce ? ['verify_only', 'retiring', 'next'] : ['verify_only'];
    const { records, record } = this.#find(kid, states, 'delete');
    this.#assertTime(record, 'delete');
    // The file first: the service publishes a file that the list does not name, and refuses a name without a file.
    rmSync(join(this.#options.directory, `${kid}.pem`));
    this.#save(records.filter((one) => one !== record));
  }

  #find(kid: string, wanted: KeyState | KeyState[], step: string) {
    const records = this.#records();
    const record = records.find((one) => one.kid === kid);
    if (record === undefined) throw new RotationRefusal(`There is no key ${kid}.`);
    const state = stateOf(record);
    if (![wanted].flat().includes(state))
      throw new RotationRefusal(`${kid} is ${state}: too early to ${step} it.`);
    return { records, record };
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

  #records(): KeyRecord[] {
    const { directory } = this.#options;
    const records = readKeyRing(directory) ?? this.#adopt();
    const lost = records.find(({ kid }) => !existsSync(join(directory, `${kid}.pem`)));
    if (lost !== undefined) throw new RotationRefusal(`There is no ${lost.kid}.pem.`);
    return records;
  }

  // A folder that was made by hand: its only key, or the one that is named, signs.
  #adopt(): KeyRecord[] {
    const { directory, activeKid } = this.#options;
    const kids = readdirSync(directory)
      .filter((name) => name.endsWith('.pem'))
      .map((name) => name.slice(0, -'.pem'.length))
      .sort();
    const active = kids.length === 1 ? kids[0] : activeKid;
    if (kids.length > 0 && (active === undefined || !kids.includes(active)))
      throw new RotationRefusal('JWT_ACTIVE_KID must name the key that signs now.');
    return kids.map((kid) => {
      const madeAt = statSync(join(directory, `${kid}.pem`)).mtime;
      return {
        ...bare(kid, madeAt),
        ...(kid === active ? { activatedAt: madeAt } : { activatedAt: madeAt, replacedAt: this.#now }),
      };
    });
  }

  #save(records: readonly KeyRecord[]): void {
    this.#write(keyRingFile, writeKeyRing(records));
  }

  // Renamed into its place: nobody ever reads half a file.
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

function bare(kid: string, madeAt: Date): KeyRecord {
  return { kid, madeAt, activatedAt: undefined, replacedAt: undefined, unpublishedAt: undefined };
}
