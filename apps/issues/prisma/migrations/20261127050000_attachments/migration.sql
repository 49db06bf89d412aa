-- Files that people attach to issues, and where their bytes are.
CREATE TYPE "attachment_state" AS ENUM ('uploading', 'stored', 'deleted');
CREATE TABLE "attachments" (
    "id" UUID NOT NULL,
    "key" UUID NOT NULL,
    "store" TEXT NOT NULL,
    "issue_id" UUID,
    "uploader_id" UUID NOT NULL,
    "name" TEXT NOT NULL,
    "size" INTEGER NOT NULL,
    "sha256" BYTEA,
    "media_type" TEXT NOT NULL DEFAULT 'application/octet-stream',
    "width" INTEGER,
    "height" INTEGER,
    "state" "attachment_state" NOT NULL DEFAULT 'uploading',
    "created_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "expires_at" TIMESTAMPTZ(3),
    "deleted_at" TIMESTAMPTZ(3),
    "deleted_by" UUID,

    CONSTRAINT "attachments_pkey" PRIMARY KEY ("id"),
    CONSTRAINT "attachments_name_check" CHECK (length(name) BETWEEN 1 AND 255),
    CONSTRAINT "attachments_stored_check" CHECK (state <> 'stored' OR sha256 IS NOT NULL),
    CONSTRAINT "attachments_bound_check" CHECK (issue_id IS NULL OR state <> 'uploading')
);
CREATE UNIQUE INDEX "attachments_key_key" ON "attachments" ("key");
CREATE INDEX "attachments_issue_idx" ON "attachments" ("issue_id", "created_at", "id");
CREATE INDEX "attachments_uploader_idx" ON "attachments" ("uploader_id", "created_at");
-- Few files belong to no issue.
CREATE INDEX "attachments_unbound_idx" ON "attachments" ("uploader_id") WHERE issue_id IS NULL AND state <> 'deleted';
CREATE INDEX "attachments_expires_idx" ON "attachments" ("expires_at") WHERE expires_at IS NOT NULL;
CREATE INDEX "attachments_store_idx" ON "attachments" ("store", "id") WHERE state = 'stored';
ALTER TABLE "attachments" ADD CONSTRAINT "attachments_issue_id_fkey" FOREIGN KEY ("issue_id") REFERENCES "issues" ("id") ON DELETE SET NULL ON UPDATE CASCADE;

-- Files that are compressed already: PostgreSQL would try in vain. Without a foreign key, because a key is first one of `blob_deletions`.
CREATE TABLE "attachment_chunks" (
    "key" UUID NOT NULL,
    "place" INTEGER NOT NULL,
    "bytes" BYTEA NOT NULL,

    CONSTRAINT "attachment_chunks_pkey" PRIMARY KEY ("key", "place")
);
ALTER TABLE "attachment_chunks" ALTER COLUMN "bytes" SET STORAGE EXTERNAL;

-- The keys of bytes that no file has: not yet, or not any more. Each key is written here before its bytes.
CREATE TABLE "blob_deletions" (
    "key" UUID NOT NULL,
    "store" TEXT NOT NULL,
    "charge" INTEGER NOT NULL,
    "due_at" TIMESTAMPTZ(3) NOT NULL,
    "claim_until" TIMESTAMPTZ(3),
    "attempts" INTEGER NOT NULL DEFAULT 0,
    "last_error" TEXT,

    CONSTRAINT "blob_deletions_pkey" PRIMARY KEY ("key")
);
CREATE INDEX "blob_deletions_due_idx" ON "blob_deletions" ("due_at");

-- The sum of the charges of all keys of a store. Uploads lock its row, so that no two together exceed a quota.
CREATE TABLE "attachment_usage" (
    "store" TEXT NOT NULL,
    "bytes" BIGINT NOT NULL DEFAULT 0,

    CONSTRAINT "attachment_usage_pkey" PRIMARY KEY ("store")
);
INSERT INTO "attachment_usage" ("store") VALUES ('database'), ('s3');

-- The number of files of an issue, and the files that the text of a comment names.
ALTER TABLE "issues" ADD COLUMN "attachments_count" INTEGER NOT NULL DEFAULT 0;
ALTER TABLE "comments" ADD COLUMN "attachment_ids" UUID[] DEFAULT ARRAY[]::UUID[];
DROP TRIGGER issues_rev ON issues;
CREATE TRIGGER issues_rev BEFORE UPDATE OF id, number, title, description, priority, status, reporter_id, assignee_id, version, rev, comments_count, created_at, updated_at, resolved_at, closed_at, label_ids, mention_ids, reporter_watches, due_on, project_id, attachments_count ON issues
    FOR EACH ROW EXECUTE FUNCTION increase_rev_of_changed_issue();
DROP TRIGGER comments_rev ON comments;
CREATE TRIGGER comments_rev AFTER INSERT OR DELETE OR UPDATE OF id, issue_id, body, author_id, origin, mention_ids, created_at, updated_at, deleted_at, sent_body, attachment_ids ON comments
    FOR EACH ROW EXECUTE FUNCTION increase_rev_of_issue();
