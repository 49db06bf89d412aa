-- AlterTable
ALTER TABLE "tracker_links" ADD COLUMN "rev" INTEGER NOT NULL DEFAULT 1;

-- A cached text of an issue is used as long as `rev` is the same, so `rev` grows with every write, by whatever client.
CREATE FUNCTION increase_rev() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.rev := OLD.rev + 1;
    RETURN NEW;
END
$$;

CREATE TRIGGER issues_rev BEFORE UPDATE ON "issues" FOR EACH ROW EXECUTE FUNCTION increase_rev();

-- The state of the sync has a `rev` of its own: a write to it must not wait for the lock of the issue, which a merge
-- holds while it writes to both tables.
CREATE TRIGGER tracker_links_rev BEFORE UPDATE ON "tracker_links" FOR EACH ROW EXECUTE FUNCTION increase_rev();

-- What belongs to an issue counts as the issue. Once in a transaction is enough, because other transactions see all of
-- its changes or none: `xmin` is the transaction that wrote the row.
CREATE FUNCTION increase_rev_of_issue() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE issues SET rev = rev + 1
     WHERE id IN (OLD.issue_id, NEW.issue_id) AND xmin <> pg_current_xact_id()::xid;
    RETURN NULL;
END
$$;

CREATE TRIGGER comments_rev AFTER INSERT OR UPDATE OR DELETE ON "comments"
    FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER issue_links_rev AFTER INSERT OR UPDATE OR DELETE ON "issue_links"
    FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();
-- A row that is inserted again begins with the first `rev`.
CREATE TRIGGER tracker_links_deleted_rev AFTER DELETE ON "tracker_links"
    FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();

-- Of the other system's comments the author and the time are shown; the rest is how they are sent.
CREATE TRIGGER tracker_comments_inserted_rev AFTER INSERT ON "tracker_comments"
    FOR EACH ROW WHEN (NEW.external_created_at IS NOT NULL) EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER tracker_comments_updated_rev AFTER UPDATE ON "tracker_comments"
    FOR EACH ROW WHEN ((OLD.external_author, OLD.external_created_at) IS DISTINCT FROM
                       (NEW.external_author, NEW.external_created_at)) EXECUTE FUNCTION increase_rev_of_issue();
CREATE TRIGGER tracker_comments_deleted_rev AFTER DELETE ON "tracker_comments"
    FOR EACH ROW WHEN (OLD.external_created_at IS NOT NULL) EXECUTE FUNCTION increase_rev_of_issue();
