-- The end of all sessions tells which access tokens have ended: those of a lower epoch.
CREATE OR REPLACE FUNCTION record_identity_events() RETURNS trigger LANGUAGE plpgsql AS $$
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
        VALUES (NEW.event_tx, 'identity.sessions_ended', NEW.id,
                jsonb_build_object('session_id', NULL, 'session_epoch', NEW.session_epoch));
    END IF;
    RETURN NULL;
END
$$;
