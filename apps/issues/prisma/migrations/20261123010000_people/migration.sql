-- Names and e-mails as words: at each punctuation mark a word ends, so that bob.smith is found by smith.
CREATE FUNCTION person_words(names text) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT translate(names, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)) $$;

-- The words that people begin with when they type them.
CREATE FUNCTION person_query(typed text) RETURNS tsquery LANGUAGE sql IMMUTABLE
    AS $$
        SELECT to_tsquery('public.issue_text', string_agg('''' || word || ''':*', ' & '))
          FROM regexp_split_to_table(public.person_words(typed), '\s+') word WHERE word <> ''
    $$;

ALTER TABLE "identity_mirror"
    ADD COLUMN "seen_order" INTEGER NOT NULL DEFAULT 0,
    -- Everything that is shown of a person's names: the username, and after a line feed the display name.
    ADD COLUMN "names" TEXT GENERATED ALWAYS AS (username || coalesce(E'\n' || display_name, '')) STORED,
    ADD COLUMN "sort_name" TEXT COLLATE "C" GENERATED ALWAYS AS (lower(coalesce(display_name, username))) STORED,
    ADD COLUMN "words" tsvector GENERATED ALWAYS AS (
        to_tsvector('public.issue_text', person_words(username || ' ' || coalesce(display_name, '')))) STORED,
    ADD COLUMN "staff_words" tsvector GENERATED ALWAYS AS (
        to_tsvector('public.issue_text', person_words(username || ' ' || coalesce(display_name, '') || ' ' || email))) STORED;

CREATE INDEX "identity_mirror_order_idx" ON "identity_mirror" ("seen_order", "sort_name", "id");
CREATE INDEX "identity_mirror_words_idx" ON "identity_mirror" USING gin ("words") WITH (fastupdate = off);
CREATE INDEX "identity_mirror_staff_words_idx" ON "identity_mirror" USING gin ("staff_words") WITH (fastupdate = off);
DROP INDEX "identity_mirror_username_idx";
