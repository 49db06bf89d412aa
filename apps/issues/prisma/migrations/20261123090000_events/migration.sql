-- The outbox: one row for each event. Triggers write it in the statement that makes the change, so a new writer cannot
-- forget it.
CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    -- The transaction of the change, or a later one that changed the same issue before it.
    "tx" BIGINT NOT NULL,
    "type" TEXT NOT NULL,
    "subject_id" UUID NOT NULL,
    "data" JSONB NOT NULL,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT clock_timestamp(),

    -- The order of the feed.
    CONSTRAINT "events_pkey" PRIMARY KEY ("tx", "id")
);
-- The feed begins after this row. As long as it exists, no event was deleted.
INSERT INTO "events" ("id", "tx", "type", "subject_id", "data")
VALUES (0, 0, 'start', '00000000-0000-0000-0000-000000000000', '{}');

-- The highest transaction id that has changed the issue. A transaction gets its id before it waits for the lock of the
-- issue, so a later change can have a lower id. The default differs for existing rows, so that no row is rewritten.
ALTER TABLE "issues" ADD COLUMN "event_tx" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "issues" ALTER COLUMN "event_tx" SET DEFAULT pg_current_xact_id()::text::bigint;

CREATE FUNCTION increase_rev_of_changed_issue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.rev := OLD.rev + 1;
    NEW.event_tx := greatest(OLD.event_tx, pg_current_xact_id()::text::bigint);
    RETURN NEW;
END
$$;
DROP TRIGGER issues_rev ON "issues";
CREATE TRIGGER issues_rev BEFORE UPDATE ON "issues" FOR EACH ROW EXECUTE FUNCTION increase_rev_of_changed_issue();

-- The entries of one statement become one event for each comment, link and status, and one for all changed fields. The
-- trigger runs at the end of the statement, so it reads the new version of the issue. Every writer of the history holds
-- the issue's lock and updates its row, so `tx` and `id` increase with the version. A loop, because a join has a cached
-- plan for a thousand entries, which reads the table of issues.
CREATE FUNCTION record_issue_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    entry record;
    event_type text;
    details jsonb;
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
          FROM issues WHERE id = entry.issue_id;
    END LOOP;
    RETURN NULL;
END
$$;
-- A process with EVENTS=off sets the parameter for its own connections.
CREATE TRIGGER activity_events AFTER INSERT ON "activity" REFERENCING NEW TABLE AS added FOR EACH STATEMENT
    WHEN (current_setting('tessera.events', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION record_issue_events();

-- A sync ends without the issue's lock, so its event has no version. A sync without effect has no event.
CREATE FUNCTION record_synced_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (tx, type, subject_id, data)
    SELECT greatest(event_tx, pg_current_xact_id()::text::bigint), 'issue.synced', id,
           jsonb_build_object('number', number, 'origin', NEW.provider, 'remote_id', NEW.remote_id)
      FROM issues WHERE id = NEW.issue_id;
    RETURN NULL;
END
$$;
CREATE TRIGGER tracker_links_events AFTER UPDATE OF "last_synced_at", "remote_id" ON "tracker_links" FOR EACH ROW
    WHEN (((NEW.last_synced_at IS DISTINCT FROM OLD.last_synced_at AND NEW.last_synced_at IS NOT NULL
            AND (OLD.last_error IS NOT NULL OR NEW.last_result <> '{"created": false, "pushed": [], "pulled": [], "comments_pushed": 0, "comments_pulled": 0}'))
           OR NEW.remote_id IS DISTINCT FROM OLD.remote_id)
          AND current_setting('tessera.events', true) IS DISTINCT FROM 'off')
    EXECUTE FUNCTION record_synced_event();
