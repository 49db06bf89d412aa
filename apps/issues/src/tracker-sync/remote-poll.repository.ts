import type { Database } from '../database.ts';
import type { TrackerIdentity } from '../issue-core/issue.ts';
import { recordAnswer } from './sync-lease.repository.ts';

// The tracker's clock can differ from ours.
const firstPollOverlapSeconds = 600;
// A change can become visible later than one with a later time.
const pollOverlapSeconds = 120;

/** A poll for changes in the tracker. */
export interface RemotePoll {
  /** The start of the poll by the database's clock. */
  startedAt: Date;
  /**
   * The start of the poll by the tracker's clock. A change with a later time does not count as read, because that clock
   * may have been set back.
   */
  clock: Date;
  /**
   * The start of the list, by the tracker's clock. It precedes the last change that was read, because a change can
   * become visible after another with a later time. When this is no longer possible, it is the second after the last
   * change, so that a project without further changes returns an empty page.
   */
  since: Date;
}

/** Polls of the tracker for changes, by all replicas together. */
export class RemotePollRepository {
  readonly #database: Database;
  readonly #tracker: TrackerIdentity;

  constructor(database: Database, tracker: TrackerIdentity) {
    this.#database = database;
    this.#tracker = tracker;
  }

  /**
   * Begins a poll for changed remote issues if no replica began one within `intervalSeconds` and remote issues exist.
   * `clock`: the current time by the tracker's clock.
   */
  async begin(intervalSeconds: number, clock: Date): Promise<RemotePoll | undefined> {
    const { provider, project } = this.#tracker;
    const [poll] = await this.#database.$queryRaw<Omit<RemotePoll, 'clock'>[]>`
      INSERT INTO tracker_states AS t (provider, project, polled_at, changes_read_until)
      SELECT ${provider}, ${project}, clock_timestamp(),
             min(coalesce(remote_seen_until, last_synced_at)) - make_interval(secs => ${firstPollOverlapSeconds})
        FROM tracker_links WHERE provider = ${provider} AND project = ${project} AND remote_id IS NOT NULL
      HAVING count(last_synced_at) > 0
      ON CONFLICT (provider, project) DO UPDATE
        SET polled_at = excluded.polled_at,
            changes_read_until = least(coalesce(t.changes_read_until, excluded.changes_read_until), ${clock}),
            changes_settled = t.changes_settled AND t.changes_read_until <= ${clock}
        WHERE coalesce(t.polled_at, '-infinity') < clock_timestamp() - make_interval(secs => ${intervalSeconds}::float8)
      RETURNING polled_at AS "startedAt", changes_read_until +
        make_interval(secs => CASE WHEN changes_settled THEN 1 ELSE ${-pollOverlapSeconds}::float8 END) AS since`;
    return poll === undefined ? undefined : { ...poll, clock };
  }

  /** Records that all changes up to a time were read. The next poll begins before that time. */
  async recordRead(readUntil: Date, { clock }: RemotePoll): Promise<void> {
    const { provider, project } = this.#tracker;
    const until = readUntil < clock ? readUntil : clock;
    await this.#database.$executeRaw`
      UPDATE tracker_states SET changes_read_until = ${until}, changes_read_at = clock_timestamp(),
        changes_settled = false
       WHERE provider = ${provider} AND project = ${project} AND changes_read_until < ${until}::timestamptz`;
  }

  /**
   * Records the end of a poll that read all changes. If the poll began long enough after the last change was read, no
   * earlier change can become visible.
   */
  async end({ startedAt }: RemotePoll): Promise<void> {
    const { provider, project } = this.#tracker;
    await this.#database.$executeRaw`
      UPDATE tracker_states SET ${recordAnswer}, changes_read_at = coalesce(changes_read_at, clock_timestamp()),
        changes_settled = changes_settled OR coalesce(
          changes_read_at < ${startedAt}::timestamptz - make_interval(secs => ${pollOverlapSeconds}), false)
       WHERE provider = ${provider} AND project = ${project}`;
  }
}
