-- PostgreSQL writes all index entries of a row again when an indexed column changes. The words of an issue are indexed in
-- a table of their own, so that a comment or a new status of an issue with 20,000 words does not write 2 MB of entries.
-- `issues.search` stays: a list that is searched near its beginning reads it with the issue.
CREATE TABLE "issue_search" (
    "issue_id" UUID NOT NULL,
    "words" tsvector NOT NULL,

    CONSTRAINT "issue_search_pkey" PRIMARY KEY ("issue_id")
);

-- Issues and texts that are written meanwhile wait until the words of all issues are copied.
LOCK TABLE "issues" IN SHARE ROW EXCLUSIVE MODE;
INSERT INTO "issue_search" SELECT id, search FROM "issues";
ALTER TABLE "issue_search" ADD CONSTRAINT "issue_search_issue_id_fkey" FOREIGN KEY ("issue_id") REFERENCES "issues"("id")
    ON DELETE RESTRICT ON UPDATE CASCADE;
-- With a list of pending entries, a large issue makes another writer write up to 4 MB of entries into the index. Without
-- it, each writer writes the words of its own issue.
CREATE INDEX "issue_search_words_idx" ON "issue_search" USING gin ("words") WITH (fastupdate = off);

CREATE FUNCTION index_issue_search() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    INSERT INTO issue_search VALUES (NEW.id, NEW.search)
        ON CONFLICT (issue_id) DO UPDATE SET words = EXCLUDED.words;
    RETURN NULL;
END
$$;
CREATE TRIGGER issues_search_index_inserted AFTER INSERT ON "issues" FOR EACH ROW
    EXECUTE FUNCTION index_issue_search();
CREATE TRIGGER issues_search_index_updated AFTER UPDATE OF "title", "description" ON "issues" FOR EACH ROW
    WHEN (OLD.title IS DISTINCT FROM NEW.title OR OLD.description IS DISTINCT FROM NEW.description)
    EXECUTE FUNCTION index_issue_search();

-- Counts no further than to the bound, and always by the index above: for words without statistics PostgreSQL would
-- read the table until it has met enough, which for rare ones is all of it.
CREATE OR REPLACE FUNCTION count_issues_with(words tsquery, bound int) RETURNS bigint LANGUAGE sql STABLE
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
    AS 'SELECT count(*) FROM (SELECT FROM issue_search s WHERE s.words @@ $1 LIMIT $2) found';
DROP INDEX "issues_search_idx";
