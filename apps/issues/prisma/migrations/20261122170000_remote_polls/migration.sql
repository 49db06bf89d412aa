-- AlterTable
ALTER TABLE "tracker_links" ADD COLUMN "remote_seen_until" TIMESTAMPTZ(3),
ADD COLUMN "remote_reported_at" TIMESTAMPTZ(3),
ADD COLUMN "changed_during_sync" BOOLEAN NOT NULL DEFAULT false;

-- CreateTable
CREATE TABLE "tracker_states" (
    "provider" TEXT NOT NULL,
    "project" TEXT NOT NULL,
    "polled_at" TIMESTAMPTZ(3),
    "changes_read_until" TIMESTAMPTZ(3),

    CONSTRAINT "tracker_states_pkey" PRIMARY KEY ("provider","project")
);
