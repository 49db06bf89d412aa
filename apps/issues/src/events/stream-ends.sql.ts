import type { Database } from '../database.ts';
import { oneOf } from '../issue-store/issue.sql.ts';
import type { StreamEnd, StreamOwner } from './event-stream.ts';

/** A stream that is to end, by its place among the given ones. */
export interface EndedStream {
  index: number;
  reason: Extract<StreamEnd, 'identity_inactive' | 'session_ended' | 'token_expired'>;
}

/**
 * Finds the streams whose identity is not active, whose web session has ended here or may have ended at identity, or, with a
 * token, whose identity has ended all sessions since. The next request of a web session that goes on refreshes its tokens.
 */
export async function findEndedStreams(
  database: Database,
  owners: readonly StreamOwner[],
): Promise<EndedStream[]> {
  const keyOf = ({ sessionKey }: StreamOwner) =>
    sessionKey ? Buffer.from(sessionKey).toString('hex') : null;
  return database.$queryRaw<EndedStream[]>`
    SELECT * FROM (
      SELECT (o.place - 1)::int AS index,
        CASE
          WHEN NOT m.is_active THEN 'identity_inactive'
          WHEN o.key IS NULL AND e.session_epoch > o.session_epoch THEN 'session_ended'
          WHEN o.key IS NOT NULL AND (s.id_hash IS NULL OR s.revoke_pending OR s.expires_at <= now()) THEN 'session_ended'
          WHEN s.access_expires_at <= now() AND s.ends > 0 THEN 'session_ended'
          WHEN s.access_expires_at <= now() THEN 'token_expired'
        END AS reason
        FROM unnest(${owners.map(({ identityId }) => identityId)}::uuid[], ${owners.map(keyOf)}::text[],
                    ${owners.map(({ sessionEpoch }) => sessionEpoch ?? null)}::int[])
             WITH ORDINALITY AS o (identity_id, key, session_epoch, place)
        LEFT JOIN ${oneOf('identity_mirror', 'id = o.identity_id')} m ON true
        LEFT JOIN ${oneOf('session_ends', 'identity_id = o.identity_id')} e ON true
        LEFT JOIN ${oneOf('web_sessions', "id_hash = decode(o.key, 'hex')")} s ON true
    ) ended WHERE reason IS NOT NULL`;
}
