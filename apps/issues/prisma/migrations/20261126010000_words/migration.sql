-- The service makes the words of all texts, so that they do not depend on the locale of the database. It rewrites those of
-- earlier rows in batches (issue-store/word-rewrite.ts); `after` is the id up to which that is done.
CREATE TABLE "word_rewrites" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "after" UUID,
    "finished_at" TIMESTAMPTZ(3)
);
INSERT INTO "word_rewrites" ("name", "finished_at") VALUES
    ('issues', CASE WHEN NOT EXISTS (SELECT FROM "issues") THEN now() END),
    ('comments', CASE WHEN NOT EXISTS (SELECT FROM "comments") THEN now() END),
    ('people', CASE WHEN NOT EXISTS (SELECT FROM "identity_mirror") THEN now() END);

DROP TRIGGER "issues_search_inserted" ON "issues";
DROP TRIGGER "issues_search_updated" ON "issues";
DROP FUNCTION "set_issue_search";
DROP TRIGGER "issues_search_index_updated" ON "issues";
CREATE TRIGGER "issues_search_index_updated" AFTER UPDATE OF "search" ON "issues" FOR EACH ROW
    WHEN (OLD.search IS DISTINCT FROM NEW.search) EXECUTE FUNCTION index_issue_search();

-- Other words for the same text are no change of an issue.
DROP TRIGGER "issues_rev" ON "issues";
CREATE TRIGGER "issues_rev" BEFORE UPDATE OF "id", "number", "title", "description", "priority", "status", "reporter_id", "assignee_id",
    "version", "rev", "comments_count", "created_at", "updated_at", "resolved_at", "closed_at", "label_ids", "mention_ids",
    "reporter_watches" ON "issues" FOR EACH ROW EXECUTE FUNCTION increase_rev_of_changed_issue();
DROP TRIGGER "comments_rev" ON "comments";
CREATE TRIGGER "comments_rev" AFTER INSERT OR DELETE OR UPDATE OF "id", "issue_id", "body", "author_id", "origin", "mention_ids",
    "created_at", "updated_at", "deleted_at", "sent_body" ON "comments" FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();

-- Keeps the words.
ALTER TABLE "comments" ALTER COLUMN "words" DROP EXPRESSION;
ALTER TABLE "identity_mirror" ALTER COLUMN "words" DROP EXPRESSION, ALTER COLUMN "staff_words" DROP EXPRESSION;

DROP FUNCTION "comment_words";
DROP FUNCTION "issue_words";
DROP FUNCTION "person_query";
DROP FUNCTION "separated_words";
DROP TEXT SEARCH CONFIGURATION "issue_text";
