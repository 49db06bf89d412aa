-- The outbox: one row for each event. Triggers write it in the statement that makes the change, so a new writer cannot
-- forget it.
CREATE TABLE "events" (
    "id" BIGSERIAL NOT NULL,
    -- The transaction of the change, or a later one that changed the same identity before it.
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

-- The highest transaction id that has changed the identity. A transaction gets its id before it waits for the lock of
-- the row, so a later change can have a lower id. The default differs for existing rows, so that no row is rewritten.
ALTER TABLE "identities" ADD COLUMN "event_tx" BIGINT NOT NULL DEFAULT 0;
ALTER TABLE "identities" ALTER COLUMN "event_tx" SET DEFAULT pg_current_xact_id()::text::bigint;

CREATE FUNCTION set_event_tx() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.event_tx := greatest(OLD.event_tx, pg_current_xact_id()::text::bigint);
    RETURN NEW;
END
$$;
CREATE TRIGGER identities_event_tx BEFORE UPDATE ON "identities" FOR EACH ROW EXECUTE FUNCTION set_event_tx();

-- An update writes at most two events: what changed, and that the sessions ended. A new password hash is not shown.
CREATE FUNCTION record_identity_events() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
    changed jsonb;
BEGIN
    IF TG_OP = 'INSERT' THEN
        INSERT INTO events (tx, type, subject_id, data) VALUES (NEW.event_tx, 'identity.created', NEW.id, '{}');
        RETURN NULL;
    END IF;
    IF NEW.deleted_at IS NOT NULL AND OLD.deleted_at IS NULL THEN
        INSERT INTO events (tx, type, subject_id, data) VALUES (NEW.event_tx, 'identity.deleted', NEW.id, '{}');
    ELSE
        SELECT jsonb_agg(name) INTO changed FROM (VALUES
            ('email', NEW.email IS DISTINCT FROM OLD.email),
            ('username', NEW.username IS DISTINCT FROM OLD.username),
            ('display_name', NEW.display_name IS DISTINCT FROM OLD.display_name),
            ('sso', (NEW.sso_provider, NEW.sso_id) IS DISTINCT FROM (OLD.sso_provider, OLD.sso_id)),
            ('is_active', NEW.is_active <> OLD.is_active),
            ('is_verified', NEW.is_verified <> OLD.is_verified),
            ('is_staff', NEW.is_staff <> OLD.is_staff),
            ('is_superuser', NEW.is_superuser <> OLD.is_superuser)
        ) fields (name, is_changed) WHERE is_changed;
        IF changed IS NOT NULL THEN
            INSERT INTO events (tx, type, subject_id, data)
            VALUES (NEW.event_tx,
                    CASE WHEN OLD.is_active AND NOT NEW.is_active THEN 'identity.deactivated' ELSE 'identity.updated' END,
                    NEW.id, jsonb_build_object('changed', changed));
        END IF;
    END IF;
    IF NEW.session_epoch <> OLD.session_epoch THEN
        INSERT INTO events (tx, type, subject_id, data)
        VALUES (NEW.event_tx, 'identity.sessions_ended', NEW.id, '{"session_id": null}');
    END IF;
    RETURN NULL;
END
$$;
-- A process with EVENTS=off sets the parameter for its own connections.
CREATE TRIGGER identities_events AFTER INSERT OR UPDATE ON "identities" FOR EACH ROW
    WHEN (current_setting('tessera.events', true) IS DISTINCT FROM 'off') EXECUTE FUNCTION record_identity_events();

-- One session. A family whose identity is gone had ended before it was marked as revoked.
CREATE FUNCTION record_session_event() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO events (tx, type, subject_id, data)
    VALUES (pg_current_xact_id()::text::bigint, 'identity.sessions_ended', NEW.identity_id,
            jsonb_build_object('session_id', NEW.id));
    RETURN NULL;
END
$$;
CREATE TRIGGER token_families_events AFTER UPDATE OF "revoked_at" ON "token_families" FOR EACH ROW
    WHEN (OLD.revoked_at IS NULL AND NEW.revoked_at IS NOT NULL AND NEW.revoke_reason IS DISTINCT FROM 'identity_gone'
          AND current_setting('tessera.events', true) IS DISTINCT FROM 'off')
    EXECUTE FUNCTION record_session_event();
