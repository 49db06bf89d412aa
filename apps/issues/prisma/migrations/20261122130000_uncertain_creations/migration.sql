-- A request to create that was repeated because the outcome of an earlier one stayed unknown: both may take effect.
ALTER TABLE "tracker_links" ADD COLUMN "uncertain_since" TIMESTAMPTZ(3);

CREATE INDEX "tracker_links_uncertain_idx" ON "tracker_links"("provider", "project", "uncertain_since")
    WHERE uncertain_since IS NOT NULL;
