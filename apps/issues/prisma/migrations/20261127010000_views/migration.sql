-- A list of what a person watches needs what they have stopped to watch, too.
CREATE INDEX "issue_watchers_stopped_idx" ON "issue_watchers" ("user_id", "issue_id") WHERE NOT is_watching;
-- Whether the reporter watches without a row, so that such a list reads the index alone.
CREATE INDEX "issues_look_idx" ON "issues" ("created_at", "id")
    INCLUDE ("status", "priority", "assignee_id", "reporter_id", "updated_at", "number", "reporter_watches");
DROP INDEX "issues_created_idx";
ALTER INDEX "issues_look_idx" RENAME TO "issues_created_idx";
CREATE INDEX "issues_look_idx" ON "issues" ("updated_at", "created_at", "id")
    INCLUDE ("status", "priority", "assignee_id", "reporter_id", "number", "reporter_watches");
DROP INDEX "issues_updated_idx";
ALTER INDEX "issues_look_idx" RENAME TO "issues_updated_idx";

-- Filters, order and layout of a list under a name. The query has passed the schema of the list.
CREATE TYPE "view_layout" AS ENUM ('list', 'board');
CREATE TABLE "views" (
    "id" UUID NOT NULL,
    "owner_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "query" TEXT NOT NULL,
    "layout" "view_layout" NOT NULL DEFAULT 'list',
    "is_shared" BOOLEAN NOT NULL DEFAULT false,
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "updated_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "views_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "views_name_check" CHECK (char_length(name) <= 100),
    CONSTRAINT "views_query_check" CHECK (octet_length(query) <= 2000)
);
CREATE INDEX "views_owner_idx" ON "views" ("owner_id", "created_at", "id");
CREATE INDEX "views_shared_idx" ON "views" ("created_at", "id") WHERE is_shared;
