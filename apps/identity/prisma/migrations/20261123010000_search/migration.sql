-- Words without accents, in no language. unaccent is a trusted extension, which the owner of the database may create; a
-- server that lacks it searches with accents.
CREATE TEXT SEARCH CONFIGURATION identity_text (COPY = pg_catalog.simple);
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS unaccent;
    ALTER TEXT SEARCH CONFIGURATION identity_text
        ALTER MAPPING FOR hword, hword_part, word WITH unaccent, simple;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file THEN
    RAISE NOTICE 'unaccent is not available: search will tell accents apart';
END
$$;

-- A word ends at each punctuation mark, so that smith finds bob.smith@example.com. PostgreSQL's own parser takes quadratic time
-- for repeated parts of hosts and e-mail addresses.
CREATE FUNCTION separated_words(names text) RETURNS text LANGUAGE sql IMMUTABLE
    AS $$ SELECT translate(names, '!"#$%&''()*+,-./:;<=>?@[\]^_`{|}~', repeat(' ', 32)) $$;

CREATE FUNCTION identity_words(username text, display_name text, email text) RETURNS tsvector LANGUAGE sql IMMUTABLE
    AS $$
        SELECT to_tsvector('public.identity_text',
            public.separated_words(username || ' ' || coalesce(display_name, '') || ' ' || email))
    $$;

-- Each word is a prefix of a found word. A repeated word is searched once.
CREATE FUNCTION identity_query(typed text) RETURNS tsquery LANGUAGE sql IMMUTABLE
    AS $$
        SELECT to_tsquery('public.identity_text', string_agg(DISTINCT '''' || word || ''':*', ' & '))
          FROM regexp_split_to_table(public.separated_words(typed), '\s+') word WHERE word <> ''
    $$;

CREATE INDEX "identities_words_idx" ON "identities"
    USING gin (identity_words(username, display_name, email)) WITH (fastupdate = off) WHERE deleted_at IS NULL;
