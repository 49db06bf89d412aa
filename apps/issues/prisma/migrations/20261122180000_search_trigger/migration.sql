-- A generated column is computed at every UPDATE of a table that has a BEFORE UPDATE trigger, as `issues` has for `rev`: a
-- comment or a new status then writes all words of the description again. A trigger of the column's own computes it only
-- when a text changes.
ALTER TABLE "issues" ALTER COLUMN "search" DROP EXPRESSION;
ALTER TABLE "issues" ALTER COLUMN "search" SET DEFAULT ''::tsvector;

CREATE FUNCTION set_issue_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.search := setweight(to_tsvector('issue_text', NEW.title), 'A')
               || setweight(to_tsvector('issue_text', NEW.description), 'B');
    RETURN NEW;
END
$$;

CREATE TRIGGER issues_search_inserted BEFORE INSERT ON "issues" FOR EACH ROW EXECUTE FUNCTION set_issue_search();
CREATE TRIGGER issues_search_updated BEFORE UPDATE OF "title", "description" ON "issues" FOR EACH ROW
    WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.description IS DISTINCT FROM NEW.description)
    EXECUTE FUNCTION set_issue_search();
