-- CreateTable
CREATE TABLE "tracker_links" (
    "issue_id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "project" TEXT NOT NULL,
    "remote_id" TEXT,
    "remote_key" TEXT,
    "remote_url" TEXT,
    "remote_state" TEXT,
    "base" JSONB,
    "create_attempted_at" TIMESTAMPTZ(3),
    "requested_by" UUID NOT NULL,
    "claim_id" UUID,
    "claim_until" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3),
    "last_error" TEXT,
    "failed_rev" INTEGER,
    "moved_to" TEXT,
    "last_synced_at" TIMESTAMPTZ(3),
    "last_result" JSONB,
    "synced_rev" INTEGER,
    "conflicts" JSONB NOT NULL DEFAULT '[]',

    CONSTRAINT "tracker_links_pkey" PRIMARY KEY ("issue_id","provider","project")
);

-- CreateTable
CREATE TABLE "tracker_comments" (
    "comment_id" UUID NOT NULL,
    "issue_id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "project" TEXT NOT NULL,
    "remote_id" TEXT,
    "attempted_at" TIMESTAMPTZ(3),
    "external_author" TEXT,
    "external_created_at" TIMESTAMPTZ(3),

    CONSTRAINT "tracker_comments_pkey" PRIMARY KEY ("comment_id","provider","project")
);

-- CreateTable
CREATE TABLE "tracker_deliveries" (
    "provider" TEXT NOT NULL,
    "delivery_id" TEXT NOT NULL,
    "received_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,

    CONSTRAINT "tracker_deliveries_pkey" PRIMARY KEY ("provider","delivery_id")
);

-- CreateIndex
CREATE UNIQUE INDEX "tracker_links_remote_key" ON "tracker_links"("provider", "project", "remote_id");

-- CreateIndex
CREATE INDEX "tracker_links_due_idx" ON "tracker_links"("next_attempt_at");

-- CreateIndex
CREATE INDEX "tracker_links_claim_idx" ON "tracker_links"("claim_until");

-- CreateIndex
CREATE INDEX "tracker_comments_issue_idx" ON "tracker_comments"("issue_id");

-- CreateIndex
CREATE UNIQUE INDEX "tracker_comments_remote_key" ON "tracker_comments"("provider", "project", "remote_id");

-- CreateIndex
CREATE INDEX "tracker_deliveries_received_idx" ON "tracker_deliveries"("received_at");

-- AddForeignKey
ALTER TABLE "tracker_links" ADD CONSTRAINT "tracker_links_issue_id_fkey" FOREIGN KEY ("issue_id") REFERENCES "issues"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- AddForeignKey
ALTER TABLE "tracker_comments" ADD CONSTRAINT "tracker_comments_comment_id_fkey" FOREIGN KEY ("comment_id") REFERENCES "comments"("id") ON DELETE RESTRICT ON UPDATE CASCADE;

-- What comes from a tracker has no identity behind it; `origin` says where it is from.
ALTER TABLE "comments" ALTER COLUMN "author_id" DROP NOT NULL;
ALTER TABLE "comments" ADD CONSTRAINT "comments_author_check" CHECK ((author_id IS NULL) = (origin <> 'local'));
ALTER TABLE "activity" ALTER COLUMN "actor_id" DROP NOT NULL;
ALTER TABLE "activity" ADD COLUMN "origin" TEXT NOT NULL DEFAULT 'local';
ALTER TABLE "activity" ADD CONSTRAINT "activity_actor_check" CHECK ((actor_id IS NULL) = (origin <> 'local'));

ALTER TABLE "tracker_links"
    ADD CONSTRAINT "tracker_links_claim_check" CHECK ((claim_id IS NULL) = (claim_until IS NULL));
