-- CreateSchema
CREATE SCHEMA IF NOT EXISTS "public";

-- CreateEnum
CREATE TYPE "issue_status" AS ENUM ('OPEN', 'IN_PROGRESS', 'RESOLVED', 'CLOSED', 'REOPENED');

-- CreateEnum
CREATE TYPE "issue_priority" AS ENUM ('LOW', 'MEDIUM', 'HIGH', 'URGENT', 'CRITICAL');

-- CreateEnum
CREATE TYPE "link_type" AS ENUM ('helpdesk_ticket', 'entity', 'invoice', 'user', 'external_issue');

-- CreateEnum
CREATE TYPE "link_relation" AS ENUM ('relates_to', 'caused_by', 'blocks', 'duplicates');

-- CreateTable
CREATE TABLE "issues" (
    "id" UUID NOT NULL,
    "number" SERIAL NOT NULL,
    "title" TEXT NOT NULL,
    "description" TEXT NOT NULL,
    "priority" "issue_priority" NOT NULL,
    "status" "issue_status" NOT NULL DEFAULT 'OPEN',
    "reporter_id" UUID NOT NULL,
    "assignee_id" UUID,
    "version" INTEGER NOT NULL DEFAULT 1,
    "rev" INTEGER NOT NULL DEFAULT 1,
    "comments_count" INTEGER NOT NULL DEFAULT 0,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "resolved_at" TIMESTAMPTZ(3),
    "closed_at" TIMESTAMPTZ(3),

    CONSTRAINT "issues_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "comments" (
    "id" UUID NOT NULL,
    "issue_id" UUID NOT NULL,
    "body" TEXT NOT NULL,
    "author_id" UUID NOT NULL,
    "origin" TEXT NOT NULL DEFAULT 'local',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "comments_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "issue_links" (
    "id" UUID NOT NULL,
    "issue_id" UUID NOT NULL,
    "type" "link_type" NOT NULL,
    "ref" TEXT NOT NULL,
    "title" TEXT,
    "url" TEXT,
    "relation" "link_relation" NOT NULL DEFAULT 'relates_to',
    "metadata" JSONB,
    "created_by" UUID NOT NULL,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "issue_links_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "activity" (
    "id" BIGSERIAL NOT NULL,
    "issue_id" UUID NOT NULL,
    "actor_id" UUID NOT NULL,
    "kind" TEXT NOT NULL,
    "field" TEXT,
    "old_value" JSONB,
    "new_value" JSONB,
    "at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "request_id" TEXT,

    CONSTRAINT "activity_pkey" PRIMARY KEY ("id")
);

-- CreateTable
CREATE TABLE "idempotency_keys" (
    "user_id" UUID NOT NULL,
    "method" TEXT NOT NULL,
    "path" TEXT NOT NULL,
    "key" TEXT NOT NULL,
    "fingerprint" TEXT NOT NULL,
    "claimed_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "status" INTEGER,
    "headers" JSONB,
    "body" TEXT,

    CONSTRAINT "idempotency_keys_pkey" PRIMARY KEY ("user_id","method","path","key")
);

-- CreateTable
CREATE TABLE "identity_mirror" (
    "id" UUID NOT NULL,
    "username" TEXT NOT NULL,
    "email" TEXT NOT NULL,
    "sso_provider" TEXT,
    "sso_id" TEXT,
    "is_active" BOOLEAN NOT NULL DEFAULT true,
    "is_verified" BOOLEAN NOT NULL DEFAULT false,
    "is_staff" BOOLEAN NOT NULL DEFAULT false,
    "is_superuser" BOOLEAN NOT NULL DEFAULT false,
    "as_of" TIMESTAMPTZ(3) NOT NULL,
    "source" TEXT NOT NULL,
    "checked_at" TIMESTAMPTZ(3),
    "missing_since" TIMESTAMPTZ(3),

    CONSTRAINT "identity_mirror_pkey" PRIMARY KEY ("id")
);

-- CreateIndex
CREATE UNIQUE INDEX "issues_number_key" ON "issues"("number");

-- CreateIndex
CREATE INDEX "issues_created_idx" ON "issues"("created_at", "id");

-- CreateIndex
CREATE INDEX "issues_updated_idx" ON "issues"("updated_at", "created_at", "id");

-- CreateIndex
CREATE INDEX "issues_status_idx" ON "issues"("status", "created_at", "id");

-- CreateIndex
CREATE INDEX "issues_priority_idx" ON "issues"("priority", "created_at", "id");

-- CreateIndex
CREATE INDEX "issues_assignee_idx" ON "issues"("assignee_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "issues_reporter_idx" ON "issues"("reporter_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "comments_issue_idx" ON "comments"("issue_id", "created_at", "id");

-- CreateIndex
CREATE INDEX "issue_links_ref_idx" ON "issue_links"("type", "ref");

-- CreateIndex
CREATE UNIQUE INDEX "issue_links_target_key" ON "issue_links"("issue_id", "type", "ref");

-- CreateIndex
CREATE INDEX "activity_issue_idx" ON "activity"("issue_id", "id");

-- CreateIndex
CREATE INDEX "idempotency_keys_claimed_idx" ON "idempotency_keys"("claimed_at");

-- CreateIndex
CREATE INDEX "identity_mirror_sso_idx" ON "identity_mirror"("sso_provider", "sso_id");

-- AddForeignKey
ALTER TABLE "comments" ADD CONSTRAINT "comments_issue_id_fkey" FOREIGN KEY ("issue_id") REFERENCES "issues"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "issue_links" ADD CONSTRAINT "issue_links_issue_id_fkey" FOREIGN KEY ("issue_id") REFERENCES "issues"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "activity" ADD CONSTRAINT "activity_issue_id_fkey" FOREIGN KEY ("issue_id") REFERENCES "issues"("id") ON DELETE RESTRICT ON UPDATE CASCADE;


-- What Prisma's schema language has no words for.
ALTER TABLE "issues"
    ADD CONSTRAINT "issues_title_check" CHECK (char_length(title) BETWEEN 1 AND 255),
    ADD CONSTRAINT "issues_description_check" CHECK (char_length(description) <= 65000),
    ADD CONSTRAINT "issues_counters_check" CHECK (version > 0 AND rev > 0 AND comments_count >= 0);
ALTER TABLE "comments"
    ADD CONSTRAINT "comments_body_check" CHECK (char_length(body) BETWEEN 1 AND 65000);
ALTER TABLE "issue_links"
    ADD CONSTRAINT "issue_links_ref_check" CHECK (char_length(ref) BETWEEN 1 AND 255);

-- Words as they are written, without accents: no language is assumed, so no word is stemmed or left out. unaccent is a
-- trusted extension, which the owner of the database may create; a server that lacks it searches with accents.
CREATE TEXT SEARCH CONFIGURATION issue_text (COPY = pg_catalog.simple);
DO $$
BEGIN
    CREATE EXTENSION IF NOT EXISTS unaccent;
    ALTER TEXT SEARCH CONFIGURATION issue_text
        ALTER MAPPING FOR hword, hword_part, word WITH unaccent, simple;
EXCEPTION WHEN insufficient_privilege OR feature_not_supported OR undefined_file THEN
    RAISE NOTICE 'unaccent is not available: search will tell accents apart';
END
$$;

-- A configuration of its own, rather than a call of unaccent(), keeps the expression immutable.
ALTER TABLE "issues" ADD COLUMN "search" tsvector NOT NULL GENERATED ALWAYS AS (
    setweight(to_tsvector('issue_text', title), 'A') || setweight(to_tsvector('issue_text', description), 'B')
) STORED;
CREATE INDEX "issues_search_idx" ON "issues" USING gin ("search");

-- How many issues have the words, counted no further than to the bound, and always by the index above: for words that it
-- has no statistics of PostgreSQL would rather read the table until it has met enough, which for rare ones is all of it.
CREATE FUNCTION count_issues_with(words tsquery, bound int) RETURNS bigint LANGUAGE sql STABLE
    SET enable_seqscan = off SET enable_indexscan = off SET enable_indexonlyscan = off
    AS 'SELECT count(*) FROM (SELECT FROM issues WHERE search @@ words LIMIT bound) found';

-- By title means by its letters, whatever their case; the C collation is the same on every server and in every release.
CREATE INDEX "issues_title_idx" ON "issues" ((lower(title) COLLATE "C"), "created_at", "id");

-- Room for new versions of a row beside the old one.
ALTER TABLE "issues" SET (fillfactor = 85);

CREATE INDEX "identity_mirror_email_idx" ON "identity_mirror" (lower(email));
CREATE INDEX "identity_mirror_username_idx" ON "identity_mirror" (lower(username) text_pattern_ops);

-- History is append-only for every role.
CREATE FUNCTION refuse_activity_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'activity is append-only';
END
$$;

CREATE TRIGGER activity_append_only
    BEFORE UPDATE OR DELETE OR TRUNCATE ON "activity"
    FOR EACH STATEMENT EXECUTE FUNCTION refuse_activity_change();
