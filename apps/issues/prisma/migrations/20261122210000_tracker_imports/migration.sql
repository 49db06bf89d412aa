-- Who wrote an imported issue in the tracker, and when.
ALTER TABLE "tracker_links" ADD COLUMN "remote_author" TEXT,
ADD COLUMN "remote_created_at" TIMESTAMPTZ(3);

-- CreateTable
CREATE TABLE "tracker_imports" (
    "id" UUID NOT NULL,
    "provider" TEXT NOT NULL,
    "project" TEXT NOT NULL,
    "requested_by" UUID NOT NULL,
    "started_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "finished_at" TIMESTAMPTZ(3),
    "since" TIMESTAMPTZ(3) NOT NULL,
    "page" INTEGER NOT NULL DEFAULT 1,
    "imported" INTEGER NOT NULL DEFAULT 0,
    "linked" INTEGER NOT NULL DEFAULT 0,
    "skipped" INTEGER NOT NULL DEFAULT 0,
    "unassigned" INTEGER NOT NULL DEFAULT 0,
    "claim_id" UUID,
    "claim_until" TIMESTAMPTZ(3),
    "failures" INTEGER NOT NULL DEFAULT 0,
    "next_attempt_at" TIMESTAMPTZ(3) NOT NULL DEFAULT CURRENT_TIMESTAMP,
    "last_error" TEXT,

    CONSTRAINT "tracker_imports_pkey" PRIMARY KEY ("id")
);

ALTER TABLE "tracker_imports"
    ADD CONSTRAINT "tracker_imports_claim_check" CHECK ((claim_id IS NULL) = (claim_until IS NULL));

-- At most one import runs at a time.
CREATE UNIQUE INDEX "tracker_imports_running_key" ON "tracker_imports"("provider", "project")
    WHERE finished_at IS NULL;
