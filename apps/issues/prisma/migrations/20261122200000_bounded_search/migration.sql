-- The words of a text of 65,000 characters have 0.3 MB in the index, and each search that meets the issue reads them. The
-- search covers the beginning of a description.
CREATE OR REPLACE FUNCTION set_issue_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    NEW.search := setweight(to_tsvector('issue_text', NEW.title), 'A')
               || setweight(to_tsvector('issue_text', left(NEW.description, 20000)), 'B');
    RETURN NEW;
END
$$;

UPDATE "issues"
   SET search = setweight(to_tsvector('issue_text', title), 'A')
             || setweight(to_tsvector('issue_text', left(description, 20000)), 'B')
 WHERE char_length(description) > 20000;

-- With a list of pending entries, a large issue makes another writer write up to 4 MB of entries into the
-- index. Without it, each writer writes the words of its own issue.
ALTER INDEX "issues_search_idx" SET (fastupdate = off);
