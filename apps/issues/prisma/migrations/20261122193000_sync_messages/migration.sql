-- The tracker's own words about the last failure.
ALTER TABLE "tracker_links" ADD COLUMN "last_messages" JSONB NOT NULL DEFAULT '[]';
