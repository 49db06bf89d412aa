-- Families are deleted by their absolute end, which none of their tokens outlives.
-- CreateIndex
CREATE INDEX "token_families_expiry_idx" ON "token_families"("expires_at");

-- The audit trail stays append-only for every role; what is older than 30 days may be deleted, and nothing younger.
DROP TRIGGER audit_events_append_only ON "audit_events";

CREATE TRIGGER audit_events_append_only
    BEFORE UPDATE OR TRUNCATE ON "audit_events"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_audit_change();

CREATE FUNCTION refuse_early_audit_delete() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    IF OLD.at > now() - interval '30 days' THEN
        RAISE EXCEPTION 'audit_events is append-only: an event is kept for at least 30 days';
    END IF;
    RETURN OLD;
END
$$;

CREATE TRIGGER audit_events_kept
    BEFORE DELETE ON "audit_events"
    FOR EACH ROW EXECUTE FUNCTION refuse_early_audit_delete();

-- With the rights of its owner, since the service's own role may insert and read, and nothing else.
CREATE FUNCTION delete_expired_audit_events(retention_days integer, batch_size integer) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
DECLARE
    deleted integer;
BEGIN
    IF retention_days IS NULL OR retention_days < 30 OR batch_size IS NULL THEN
        RAISE EXCEPTION 'audit_events is append-only: an event is kept for at least 30 days';
    END IF;
    DELETE FROM public.audit_events WHERE id IN (
        SELECT id FROM public.audit_events WHERE at < now() - make_interval(days => retention_days)
         ORDER BY at, id LIMIT batch_size FOR UPDATE SKIP LOCKED
    );
    GET DIAGNOSTICS deleted = ROW_COUNT;
    RETURN deleted;
END
$$;

REVOKE ALL ON FUNCTION delete_expired_audit_events(integer, integer) FROM PUBLIC;
