-- The people that a text mentions since its last change, and did not mention before it; NULL without any. The event of the
-- change has them.
ALTER TABLE "issues" ADD COLUMN "added_mention_ids" UUID[];
ALTER TABLE "comments" ADD COLUMN "added_mention_ids" UUID[];

CREATE FUNCTION set_added_mentions() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.added_mention_ids := NULLIF(ARRAY(SELECT unnest(NEW.mention_ids) EXCEPT SELECT unnest(OLD.mention_ids)), '{}');
    RETURN NEW;
END
$$;
CREATE TRIGGER issues_added_mentions BEFORE UPDATE OF "mention_ids" ON "issues" FOR EACH ROW
    WHEN (NEW.mention_ids <> '{}' OR OLD.added_mention_ids IS NOT NULL) EXECUTE FUNCTION set_added_mentions();
CREATE TRIGGER comments_added_mentions BEFORE UPDATE OF "mention_ids" ON "comments" FOR EACH ROW
    WHEN (NEW.mention_ids <> '{}' OR OLD.added_mention_ids IS NOT NULL) EXECUTE FUNCTION set_added_mentions();

-- As before, with the assignee and the mentioned people in the event, so that a reader needs no state of an earlier version.
CREATE OR REPLACE FUNCTION record_issue_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    entry record;
    event_type text;
    details jsonb;
    mentions jsonb;
    grouped text[] := '{}';
BEGIN
    FOR entry IN SELECT * FROM added ORDER BY id LOOP
        CASE entry.kind
            WHEN 'created' THEN
                event_type := 'issue.created';
                details := '{}';
            WHEN 'status_changed' THEN
                event_type := 'issue.status_changed';
                details := jsonb_build_object('from', entry.old_value, 'to', entry.new_value);
            WHEN 'comment_added', 'comment_changed', 'comment_removed' THEN
                event_type := CASE entry.kind WHEN 'comment_added' THEN 'issue.commented'
                    WHEN 'comment_changed' THEN 'comment.updated' ELSE 'comment.deleted' END;
                details := jsonb_build_object('comment_id', coalesce(entry.new_value, entry.old_value) -> 'comment_id');
                -- The people that the text did not mention before.
                SELECT details || jsonb_build_object('mention_ids', mentioned) INTO mentions FROM (
                    SELECT CASE entry.kind WHEN 'comment_added' THEN mention_ids
                             WHEN 'comment_changed' THEN added_mention_ids END AS mentioned
                      FROM comments WHERE id = (details ->> 'comment_id')::uuid
                ) comment WHERE mentioned <> '{}';
                details := coalesce(mentions, details);
            WHEN 'link_added', 'link_removed' THEN
                event_type := 'issue.' || entry.kind;
                details := coalesce(entry.new_value, entry.old_value);
                details := jsonb_build_object('link_type', details -> 'type', 'link_ref', details -> 'ref');
            ELSE
                event_type := CASE entry.kind WHEN 'sync_conflict' THEN 'issue.sync_conflict' ELSE 'issue.updated' END;
                CONTINUE WHEN event_type || entry.issue_id = ANY (grouped);
                grouped := grouped || (event_type || entry.issue_id);
                SELECT jsonb_build_object('changed', jsonb_agg(DISTINCT CASE
                         WHEN kind IN ('label_added', 'label_removed') THEN 'labels'
                         WHEN kind = 'link_changed' THEN 'links'
                         ELSE field
                       END))
                  INTO details FROM added
                 WHERE issue_id = entry.issue_id
                   AND kind IN ('updated', 'label_added', 'label_removed', 'link_changed', 'sync_conflict')
                   AND (kind = 'sync_conflict') = (entry.kind = 'sync_conflict');
        END CASE;
        INSERT INTO events (tx, type, subject_id, data)
        SELECT greatest(event_tx, pg_current_xact_id()::text::bigint), event_type, id,
               details || jsonb_build_object('number', number, 'version', version, 'actor_id', entry.actor_id,
                 'origin', entry.origin)
               || CASE WHEN (event_type = 'issue.created' AND assignee_id IS NOT NULL)
                         OR (event_type = 'issue.updated' AND details -> 'changed' ? 'assignee')
                    THEN jsonb_build_object('assignee_id', assignee_id) ELSE '{}' END
               || CASE WHEN event_type = 'issue.created' AND mention_ids <> '{}'
                    THEN jsonb_build_object('mention_ids', mention_ids)
                    WHEN event_type = 'issue.updated' AND details -> 'changed' ? 'description' AND added_mention_ids <> '{}'
                    THEN jsonb_build_object('mention_ids', added_mention_ids) ELSE '{}' END
          FROM issues WHERE id = entry.issue_id;
    END LOOP;
    RETURN NULL;
END
$$;

-- What happened, for one person. Written by the reader `notifications` of the events.
CREATE TABLE "notifications" (
    "identity_id" UUID NOT NULL,
    -- Counts up for each person, so the newest 1,000 are found without counting rows.
    "place" BIGINT NOT NULL,
    "id" BIGSERIAL NOT NULL,
    "event_id" BIGINT NOT NULL,
    "reason" TEXT NOT NULL,
    "type" TEXT NOT NULL,
    "issue_id" UUID NOT NULL,
    "comment_id" UUID,
    "actor_id" UUID,
    "created_at" TIMESTAMPTZ(3) NOT NULL,
    "read_at" TIMESTAMPTZ(3),
    -- The cleanup deletes the row after this time.
    "expires_at" TIMESTAMPTZ(3) NOT NULL,

    CONSTRAINT "notifications_pkey" PRIMARY KEY ("identity_id", "place")
);
CREATE UNIQUE INDEX "notifications_event_key" ON "notifications" ("identity_id", "event_id");
CREATE INDEX "notifications_expires_idx" ON "notifications" ("expires_at");

-- Events before the migration make no notifications.
INSERT INTO "event_readers" ("name", "tx", "event_id")
VALUES ('notifications', pg_snapshot_xmin(pg_current_snapshot())::text::bigint, 0);
