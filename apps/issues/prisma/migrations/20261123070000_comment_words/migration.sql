-- The search finds issues by the words of their comments. The words of 4,000 characters have at most 20 KB: a search reads those of
-- up to 4,000 comments without the index. A deleted comment has no words.
CREATE FUNCTION comment_words(body text) RETURNS tsvector LANGUAGE sql IMMUTABLE
    AS $$ SELECT to_tsvector('public.issue_text', public.separated_words(left(body, 4000))) $$;

-- Comments that are written meanwhile wait until all words are computed.
ALTER TABLE "comments" ADD COLUMN "words" tsvector GENERATED ALWAYS AS (
    CASE WHEN deleted_at IS NULL THEN comment_words(body) END
) STORED;

-- Without a list of pending entries, each writer writes only its own words.
CREATE INDEX "comments_words_idx" ON "comments" USING gin ("words") WITH (fastupdate = off);

-- Counts no further than to the bound, and always by the index, like count_issues_with.
CREATE FUNCTION count_comments_with(words tsquery, bound int) RETURNS bigint LANGUAGE sql STABLE
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
    AS 'SELECT count(*) FROM (SELECT FROM comments c WHERE c.words @@ $1 LIMIT $2) found';
