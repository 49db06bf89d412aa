-- The list of issues filters by the state of the sync. One column has statistics, a combination of columns has none.
ALTER TABLE "tracker_links" ADD COLUMN "attention" TEXT GENERATED ALWAYS AS (
    CASE WHEN next_attempt_at IS NOT NULL THEN 'stale' WHEN last_error IS NOT NULL THEN 'failed' END) STORED;

CREATE INDEX "tracker_links_attention_idx" ON "tracker_links"("provider", "project", "attention")
    WHERE attention IS NOT NULL;
CREATE INDEX "tracker_links_conflicts_idx" ON "tracker_links"("provider", "project") WHERE conflicts_count > 0;
