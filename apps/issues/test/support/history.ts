/**
 * Inserts history entries of an issue with their events, as the service does, without its requests. Parameters: the ids of the
 * issue and of a person, and the number of entries.
 */
export const insertHistory = `
  WITH logged AS (
    INSERT INTO activity (issue_id, actor_id, kind)
    SELECT $1::uuid, $2::uuid, 'created' FROM generate_series(1, $3::int)
  )
  INSERT INTO events (tx, type, subject_id, data)
  SELECT greatest(event_tx, pg_current_xact_id()::text::bigint), 'issue.created', id,
         jsonb_build_object('number', number, 'version', version, 'actor_id', $2::text, 'origin', 'local')
    FROM issues, generate_series(1, $3::int) WHERE id = $1::uuid`;
