import { type PrimaryPlace, placeNeeded, type StandbyPlace } from './database-position.ts';

/** How old a list may be if its request names no position, in milliseconds. */
export const listAgeMaxMs = 5_000;

/**
 * Whether a standby may serve a read: `current`; `behind`: not yet; `elsewhere`: the primary must; or the reason why the standby
 * is of no use.
 */
export type Verdict = 'current' | 'behind' | 'elsewhere' | { unusable: string };

interface Mark extends PrimaryPlace {
  at: number;
}

/**
 * The latest places of the primary, by which a standby is judged. What a standby lacks is as old as the newest of these places
 * that it has replayed. This does not depend on the clocks of the servers, and holds for a standby that receives nothing any more.
 */
export class PrimaryTrail {
  #marks: Mark[] = [];

  get latest(): PrimaryPlace | undefined {
    return this.#marks.at(-1);
  }

  /** `at`: a time before the place was read, in milliseconds. */
  note(place: PrimaryPlace, at: number): void {
    const { latest } = this;
    const isSame = latest?.database === place.database && latest.timeline === place.timeline;
    const kept = isSame ? this.#marks.filter((mark) => mark.at > at - listAgeMaxMs) : [];
    this.#marks = [...kept, { ...place, at }];
  }

  /** `after`: a position that the read must see. `ageMaxMs`: how old the standby may be. */
  judge(
    standby: StandbyPlace,
    after: string | undefined,
    now: number,
    ageMaxMs: number = listAgeMaxMs,
  ): Verdict {
    const { latest } = this;
    if (latest === undefined) return { unusable: 'the place of the primary is unknown' };
    if (!standby.isStandby) return { unusable: 'the server is no standby' };
    if (standby.database !== latest.database)
      return { unusable: 'the server has another database than the primary' };
    if (standby.timeline !== latest.timeline)
      return { unusable: 'the server is not known to follow the timeline of the primary' };
    if (!this.#marks.some(({ at, lsn }) => at >= now - ageMaxMs && lsn <= standby.lsn))
      return { unusable: `the standby is more than ${ageMaxMs / 1000} s behind, or the primary is silent` };
    const needed = after === undefined ? 'nothing' : placeNeeded(after, latest);
    if (needed === 'elsewhere') return needed;
    return needed === 'nothing' || needed.lsn <= standby.lsn ? 'current' : 'behind';
  }
}
