import type { SqlClient, SqlRunner } from './sql-client.ts';

export interface ReadOptions {
  /** A position that the read must see; see `positionOf`. */
  after?: string | undefined;
  /** Runs all statements in one snapshot. */
  isolationLevel?: 'RepeatableRead';
}

/** Where reads come from that need not be the newest state. */
export interface ReadSource {
  /** Runs statements that only read. May call `run` again, with another server. */
  read<Result>(run: (within: SqlRunner) => Promise<Result>, options?: ReadOptions): Promise<Result>;
}

/** Reads from one database, which has every position. */
export function readsOf(database: SqlClient): ReadSource {
  return {
    read: (run, { isolationLevel } = {}) =>
      isolationLevel === undefined ? run(database) : database.$transaction(run, { isolationLevel }),
  };
}
