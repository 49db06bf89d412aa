-- A cached text of an issue is used as long as `rev` is the same. `event_tx` orders the events of an issue: a transaction gets
-- its id before it waits for the lock of the issue, so a later change can have a lower id.
CREATE OR REPLACE FUNCTION public.increase_rev_of_changed_issue()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    NEW.rev := OLD.rev + 1;
    NEW.event_tx := greatest(OLD.event_tx, pg_current_xact_id()::text::bigint);
    RETURN NEW;
END
$function$;

CREATE TRIGGER issues_rev BEFORE UPDATE OF id, number, title, description, priority, status, reporter_id, assignee_id, version, rev, comments_count, created_at, updated_at, resolved_at, closed_at, label_ids, mention_ids, reporter_watches, due_on, project_id, attachments_count ON issues FOR EACH ROW EXECUTE FUNCTION increase_rev_of_changed_issue();
