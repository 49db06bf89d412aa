-- The service makes the words of the names, so that they do not depend on the locale of the database: a literal of tsvector. It
-- makes those of earlier rows in batches; until then they are found by identity_words.
ALTER TABLE "identities" ADD COLUMN "search_words" TEXT;
CREATE INDEX "identities_search_words_idx" ON "identities"
    USING gin ((search_words::tsvector)) WITH (fastupdate = off) WHERE deleted_at IS NULL;

CREATE TABLE "word_rewrites" (
    "name" TEXT NOT NULL PRIMARY KEY,
    "after" UUID,
    "finished_at" TIMESTAMPTZ(3)
);
INSERT INTO "word_rewrites" ("name", "finished_at") VALUES
    ('identities', CASE WHEN NOT EXISTS (SELECT FROM "identities") THEN now() END);
