-- A comment or a link counts as a part of its issue. Once in a transaction is enough: other transactions see all of its changes
-- or none. `xmin` is the transaction that wrote the row.
CREATE OR REPLACE FUNCTION public.increase_rev_of_issue()
 RETURNS trigger
 LANGUAGE plpgsql
AS $function$
BEGIN
    UPDATE issues SET rev = rev + 1
     WHERE id IN (OLD.issue_id, NEW.issue_id) AND xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END
$function$;

CREATE TRIGGER comments_rev AFTER INSERT OR DELETE OR UPDATE OF id, issue_id, body, author_id, origin, mention_ids, created_at, updated_at, deleted_at, sent_body, attachment_ids ON comments FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER issue_links_rev AFTER INSERT OR DELETE OR UPDATE ON issue_links FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER tracker_comments_deleted_rev AFTER DELETE ON tracker_comments FOR EACH ROW WHEN (old.external_created_at IS NOT NULL) EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER tracker_comments_inserted_rev AFTER INSERT ON tracker_comments FOR EACH ROW WHEN (new.external_created_at IS NOT NULL) EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER tracker_comments_updated_rev AFTER UPDATE ON tracker_comments FOR EACH ROW WHEN (old.external_author IS DISTINCT FROM new.external_author OR old.external_created_at IS DISTINCT FROM new.external_created_at) EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER tracker_links_deleted_rev AFTER DELETE ON tracker_links FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();
