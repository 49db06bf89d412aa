-- When and with which configuration a sync last failed: both decide when it is retried.
ALTER TABLE "tracker_links"
    ADD COLUMN "failed_at" TIMESTAMPTZ(3),
    ADD COLUMN "failed_configuration" TEXT;

CREATE INDEX "tracker_links_stuck_idx" ON "tracker_links"("provider", "project", "failed_at")
    WHERE last_error IS NOT NULL AND next_attempt_at IS NULL;
